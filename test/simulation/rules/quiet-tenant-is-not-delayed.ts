import type { Observations } from '../world/observations.ts';
import type { ArrivalKind } from '../world/receivers.ts';
import type { Scenario } from '../world/scenario.ts';
import { eventsOf } from './planned-alerts.ts';

/** After this time without an event of an attacker, ms, the service no longer knows who is slow. */
const QUIET_MS = 120_000;

/** How long after the start of an attack the first attempts of others may wait for the attacker's. */
const FIRST_MINUTE_MS = 60_000;

const MAX_DELAY_MS = { firstMinute: 20_000, afterwards: 2_000, escalation: 20_000 };

const isOfAttacker = ({ tenants }: Scenario, name: string): boolean =>
  tenants.some((tenant) => tenant.name === name && tenant.kind === 'attacker');

/** Returns a scenario without what attackers do, or undefined if it has faults, other than of the reporter, or no attackers. */
export const withoutAttackers = (scenario: Scenario): Scenario | undefined => {
  const { rates, outages, frequentFault, steps } = scenario;
  if (Object.values(rates).some((rate) => rate > 0) || outages.length > 0) return undefined;
  if (frequentFault && frequentFault.functionName !== 'report-deliveries') return undefined;
  const others = steps.filter((step) => !('tenant' in step) || !isOfAttacker(scenario, step.tenant));
  return others.length === steps.length ? undefined : { ...scenario, steps: others };
};

/** Returns when the messages of a kind about each event of quiet tenants first arrived, by event and recipient. */
const firstArrivals = ({ scenario, arrivals }: Observations, wanted: ArrivalKind): ReadonlyMap<string, number> => {
  const quiet = new Set(scenario.tenants.filter(({ kind }) => kind === 'quiet').map(({ name }) => name));
  const numbers = new Set(eventsOf(scenario).flatMap(({ number, tenant }) => (quiet.has(tenant) ? [number] : [])));
  const first = new Map<string, number>();
  for (const {
    to,
    kind,
    numbers: [number = -1],
    atMs,
  } of arrivals) {
    const key = `#${number}# to ${to}`;
    if (kind === wanted && numbers.has(number) && !first.has(key)) first.set(key, atMs);
  }
  return first;
};

const isHanging = ({ tenants }: Scenario): boolean =>
  tenants.some(
    ({ kind, notifications }) =>
      kind === 'attacker' && notifications.some(({ phases }) => phases[0]?.behavior === 'hang'),
  );

/** Returns when attacks by endpoints that hang start, ms since the start. */
const attackStarts = (scenario: Scenario): number[] => {
  if (!isHanging(scenario)) return [];
  const times = eventsOf(scenario)
    .filter(({ tenant }) => isOfAttacker(scenario, tenant))
    .flatMap(({ atMs, repeatsAfterMs }) => [0, ...repeatsAfterMs].map((delayMs) => atMs + delayMs))
    .toSorted((left, right) => left - right);
  return times.filter((atMs, index) => atMs - (times[index - 1] ?? Number.NEGATIVE_INFINITY) > QUIET_MS);
};

/**
 * Returns which alerts of quiet tenants are later than in the same run without attackers: by more than 20 s in the first
 * minute of an attack, or by more than 2 s after it. Escalations may be 20 s later (docs/decisions/notices.md#reports).
 */
export const delaysOfQuietTenants = (attacked: Observations, alone: Observations): string[] => {
  const starts = attackStarts(attacked.scenario);
  const maxDelayMs = (kind: ArrivalKind, atMs: number, expectedMs: number): number => {
    const isFirstMinute = starts.some((startMs) => startMs <= atMs && expectedMs <= startMs + FIRST_MINUTE_MS);
    if (kind === 'escalation') return MAX_DELAY_MS.escalation;
    return isFirstMinute ? MAX_DELAY_MS.firstMinute : MAX_DELAY_MS.afterwards;
  };
  return (['alert', 'escalation'] as const).flatMap((kind) => {
    const arrived = firstArrivals(attacked, kind);
    return [...firstArrivals(alone, kind)].flatMap(([name, expectedMs]) => {
      const atMs = arrived.get(name) ?? Number.POSITIVE_INFINITY;
      return atMs - expectedMs > maxDelayMs(kind, atMs, expectedMs)
        ? [`a quiet tenant is not delayed: ${kind} ${name} is ${atMs - expectedMs} ms later than without attackers.`]
        : [];
    });
  });
};
