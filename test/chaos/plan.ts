import { pick, type Random } from './random.ts';
import { type ChaosTarget, numberedEvent } from './targets.ts';

/** An event, and a notification in its plan. */
export type PlannedDelivery = { event: ReturnType<typeof numberedEvent>; target: ChaosTarget };

/** The messages of a run, including duplicates and invalid events, and the deliveries that must result from them. */
export type ChaosPlan = {
  messages: string[];
  planned: PlannedDelivery[];
  duplicates: number;
  invalid: number;
  /** How often an event lists a notification that does not exist. */
  unknownIds: number;
};

/** Creates random events for the notifications of the tenants. */
export const planEvents = (
  targets: ReadonlyMap<string, readonly ChaosTarget[]>,
  eventCount: number,
  random: Random,
): ChaosPlan => {
  const plan: ChaosPlan = { messages: [], planned: [], duplicates: 0, invalid: 0, unknownIds: 0 };
  const unknown = { ...pick([...targets.values()].flat(), random), id: 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV' };
  for (let number = 0; number < eventCount; number++) {
    const tenant = pick([...targets.keys()], random);
    const ofTenant = targets.get(tenant) ?? [];
    const chosen = [
      ...new Set([pick(ofTenant, random), pick(ofTenant, random), ...(random() < 0.05 ? [unknown] : [])]),
    ];
    const state = pick(['OK', 'WARNING', 'CRITICAL'] as const, random);
    const ids = chosen.map(({ id }) => id);
    const event = numberedEvent(tenant, number, state, ids, random);
    const message = JSON.stringify(event);
    plan.messages.push(message);
    plan.planned.push(...chosen.filter((target) => target !== unknown).map((target) => ({ event, target })));
    plan.unknownIds += chosen.filter((target) => target === unknown).length;
    if (random() < 0.1) {
      plan.duplicates++;
      plan.messages.push(message);
    }
    if (random() < 0.05) {
      plan.invalid++;
      const invalid = [
        '{',
        '[]',
        JSON.stringify({ ...event, tenant_id: '' }),
        JSON.stringify({ ...event, details: {} }),
      ];
      plan.messages.push(pick(invalid, random));
    }
  }
  return plan;
};
