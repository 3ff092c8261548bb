import type { Observations } from '../world/observations.ts';
import type { Arrival } from '../world/receivers.ts';
import { isInOrder } from '../world/scenario.ts';
import { type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import { mayBeUnrecorded, sendersOf } from './requests.ts';
import type { Rule } from './rule.ts';

/** Returns whether the sender of a message may not have recorded that it was accepted. */
export const isUnrecorded = (arrival: Arrival, observations: Observations): boolean =>
  !arrival.isAnswered || mayBeUnrecorded(arrival, observations);

/**
 * Returns whether an alert has one message, so that it is sent once although DynamoDB cannot record that it was accepted:
 * the message is then acknowledged.
 */
const hasOneMessage = (
  { event, notification }: PlannedAlert,
  arrivals: readonly Arrival[],
  observations: Observations,
): boolean => {
  const { scenario, redrives, people } = observations;
  return (
    event.repeatsAfterMs.length === 0 &&
    event.alteredAfterMs === undefined &&
    scenario.rates.duplicateReceives === 0 &&
    redrives.length === 0 &&
    !people.some(({ action }) => action.kind === 'redeliver' && action.notification === notification.index) &&
    // If the lock of an incident cannot be advanced, the message is received again.
    !isInOrder(notification) &&
    !observations.kills.some(
      ({ environmentId, atMs }) =>
        sendersOf(notification.type).test(environmentId) && atMs <= (arrivals.at(-1)?.atMs ?? event.atMs),
    ) &&
    !observations.faults.some(
      ({ environmentId, operation, atMs }) =>
        sendersOf(notification.type).test(environmentId) &&
        // A message that dispatch or a sender could not record as sent is sent again.
        (operation.startsWith('sqs') || environmentId.startsWith('dispatch')) &&
        atMs <= (arrivals.at(-1)?.atMs ?? event.atMs),
    )
  );
};

/** An alert arrives twice only if its sender got no answer, or was ended before it recorded the answer. */
export const duplicatesAreExplained: Rule = {
  name: 'duplicates are explained',
  violations(observations) {
    const groups = Map.groupBy(
      plannedAlerts(observations.scenario),
      ({ event, to }: PlannedAlert) => `#${event.number}# to ${to}`,
    );
    return [...groups].flatMap(([name, alerts]) => {
      const [first] = alerts;
      const arrivals = observations.arrivals.filter(
        ({ to, kind, numbers }) => to === first?.to && kind === 'alert' && numbers.includes(first?.event.number ?? -1),
      );
      const isOnce = first !== undefined && hasOneMessage(first, arrivals, observations);
      const unexplained = arrivals.filter(
        (arrival) => arrival.isAnswered && (isOnce || !isUnrecorded(arrival, observations)),
      ).length;
      return unexplained > alerts.length
        ? [`${name} arrived ${arrivals.length} times, ${unexplained} with an answer.`]
        : [];
    });
  },
};
