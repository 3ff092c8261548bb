import { eventIdOf } from '../world/alarm-events.ts';
import type { Observations } from '../world/observations.ts';
import type { Arrival } from '../world/receivers.ts';
import { isInOrder } from '../world/scenario.ts';
import { type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import { arrivalsOf, faultsWith, invocationsWith, mayBeUnrecorded, sendersOf } from './requests.ts';
import type { Rule } from './rule.ts';

/** Returns whether the sender of a message may not have recorded that it was accepted. */
export const isUnrecorded = (arrival: Arrival, observations: Observations): boolean =>
  !arrival.isAnswered || mayBeUnrecorded(arrival, observations);

/**
 * Returns whether an alert has one message, so that it is sent once although DynamoDB cannot record that it was accepted:
 * the message is then acknowledged.
 */
const hasOneMessage = ({ event, notification }: PlannedAlert, observations: Observations): boolean => {
  const { duplicated, redrives, people, ids } = observations;
  const key = { tenant: event.tenant, eventId: eventIdOf(event) };
  const id = ids.get(notification.index) ?? '';
  const senders = invocationsWith(key, sendersOf(notification.type), observations);
  const isOther = ({ operation = 'kill', environmentId }: { operation?: string; environmentId: string }): boolean =>
    // A message that dispatch or a sender could not record as sent is sent again.
    operation === 'kill' || operation.startsWith('sqs') || environmentId.startsWith('dispatch');
  return (
    event.repeatsAfterMs.length === 0 &&
    event.alteredAfterMs === undefined &&
    // If the lock of an incident cannot be advanced, the message is received again.
    !isInOrder(notification) &&
    !duplicated.some((messageId) => senders.some(({ text }) => text.includes(messageId))) &&
    !redrives.some(({ letters }) =>
      [...letters.values()].flat().some(({ body }) => body.includes(key.eventId) && body.includes(id)),
    ) &&
    !people.some(({ action }) => action.kind === 'redeliver' && action.notification === notification.index) &&
    !faultsWith(key, sendersOf(notification.type), observations).some(isOther)
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
      if (!first) return [];
      const arrivals = arrivalsOf(observations, first);
      const isOnce = hasOneMessage(first, observations);
      const unexplained = arrivals.filter(
        (arrival) => arrival.isAnswered && (isOnce || !isUnrecorded(arrival, observations)),
      ).length;
      return unexplained > alerts.length
        ? [`${name} arrived ${arrivals.length} times, ${unexplained} with an answer.`]
        : [];
    });
  },
};
