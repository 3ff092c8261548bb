import type { Plan } from 'local-aws/template.ts';
import { createDeliveryReader } from '../../../shared/adapters/deliveries/delivery-reader.ts';
import { createFailedMessageList } from '../../../shared/adapters/deliveries/failed-message-list.ts';
import { listedDelivery } from '../../../shared/domain/delivery-history.ts';
import { START_MS } from '../engine/stack.ts';
import type { HistoryEntry, Observations } from '../world/observations.ts';
import { createOperatorClient } from '../world/operators.ts';
import type { Scenario } from '../world/scenario.ts';
import type { SmallWorld } from './small-world.ts';

/** Returns what is known at the end of a path. */
export const observationsOf = async (
  world: SmallWorld,
  plan: Plan,
  scenario: Scenario,
  ids: ReadonlyMap<number, string>,
): Promise<Observations> => {
  const { time, receivers, kills, failures, faults, invocations, queues, waiting, log } = world;
  const client = createOperatorClient();
  const deliveries = createDeliveryReader(client, plan.output('DeliveriesTable'));
  const failedMessages = createFailedMessageList(client, plan.output('DeliveriesTable'));
  const history: HistoryEntry[] = [];
  const notRedelivered: string[] = [];
  for (const { name: tenant } of scenario.tenants)
    for (const [notification, notificationId] of ids) {
      const { records } = await deliveries.listPage({ tenant, notificationId }, { limit: 100 });
      const alerts = records.filter(({ notice }) => notice === undefined);
      history.push(...alerts.map((record) => ({ ...listedDelivery(record, false), notification })));
      const stored = await Array.fromAsync(
        failedMessages.list({ tenant, notificationId }, { sinceMs: 0, after: null, untilMs: Number.MAX_SAFE_INTEGER }),
      );
      for (const { pk, sk, status, round, event_id } of alerts) {
        const isStored = stored
          .flat()
          .some(({ recordKey, round: next }) => recordKey.pk === pk && recordKey.sk === sk && next === round + 1);
        if (status === 'failed' && !isStored) notRedelivered.push(`The message of ${event_id} is not stored.`);
      }
    }
  const deadLetters = [...queues].filter(([name]) => name.includes('DeadLetters'));
  const endedMs = time.now() - START_MS;
  return {
    scenario,
    arrivals: receivers.arrivals,
    requests: receivers.requests,
    refusals: receivers.refusals,
    faults,
    duplicated: [],
    kills,
    people: [],
    history,
    foundEvents: [],
    earlierHistory: history,
    failingNotifications: new Map(),
    redeliveredMs: endedMs,
    audits: [],
    labels: new Map(),
    deadLetters: new Map(
      deadLetters.map(([name, { messages }]) => [
        name,
        messages.map(({ body, attributes }) => ({ body, reason: attributes.get('reason')?.value.toString() })),
      ]),
    ),
    ids,
    credentials: new Map(),
    emailReports: [],
    emailProgress: [],
    emails: [],
    redrives: [],
    shadows: [],
    notRedelivered,
    left: waiting.length,
    logs: log,
    startMs: START_MS,
    failures,
    endedMs,
    invocations,
    outcomes: [],
    reportsGivenUp: 0,
  };
};
