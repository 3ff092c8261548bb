import type { HistoryEntry } from '../world/observations.ts';
import { recipientsOf } from '../world/receivers.ts';
import { isInOrder, isSentByAws } from '../world/scenario.ts';
import { createOutcomes, isAboveDailyLimit, isOnlyOfType } from './alert-outcomes.ts';
import { isUnrecorded } from './duplicates-are-explained.ts';
import {
  deletedAtMs,
  eventsOf,
  isInShadow,
  isSupersededInShadow,
  mayBeMuted,
  mayBeOlder,
  nameOf,
  type PlannedDelivery,
  plannedDeliveries,
} from './planned-alerts.ts';
import { MAX_ATTEMPTS, mayBeUnrecorded } from './requests.ts';
import type { Rule } from './rule.ts';
import { isStopped } from './stops-hold.ts';

/** The status of each delivery agrees with what arrived, and with what people did. */
export const historyAgrees: Rule = {
  name: 'the history agrees with what arrived',
  violations(observations) {
    const { scenario, history, arrivals, requests, people, redrives } = observations;
    const { arrivalsOf, isBounced, reachedAtMs } = createOutcomes(observations);
    const events = new Map(eventsOf(scenario).map((event) => [event.number, event]));
    const unrecorded = observations.logs.filter((line) => line.includes('delivered but not recorded')).join('\n');

    const isSuperseded = ({ event, notification }: PlannedDelivery): boolean =>
      isInOrder(notification) &&
      (isSupersededInShadow(event, observations) ||
        arrivals.some(
          ({ to, kind, numbers }) =>
            to === notification.key &&
            kind === 'alert' &&
            numbers.some((number) => {
              const newer = events.get(number);
              return newer !== undefined && mayBeOlder(event, newer);
            }),
        ));

    const hasSummary = ({ notification, tenant }: PlannedDelivery, { summary_id: id }: HistoryEntry): boolean => {
      const summary = history.find((entry) => entry.event_id === id && entry.notification === notification.index);
      const hasArrived = recipientsOf(notification, tenant).some((recipient) =>
        arrivals.some(({ to, kind }) => to === recipient && kind === 'summary'),
      );
      return summary !== undefined && (summary.status !== 'delivered' || hasArrived);
    };

    const isOnlyOne = (delivery: PlannedDelivery): boolean =>
      recipientsOf(delivery.notification, delivery.tenant).length === 1 && isOnlyOfType(delivery);

    /** Whether what arrived may not be recorded. */
    const isUncertain = (delivery: PlannedDelivery): boolean =>
      arrivalsOf(delivery).some((arrival) => isUnrecorded(arrival, observations));

    const isWithheld = (delivery: PlannedDelivery, { reason }: HistoryEntry): boolean =>
      (reason === 'shadow' && isInShadow(delivery.event, observations)) ||
      (reason === 'muted' && mayBeMuted(delivery, observations));

    const problemOf = (delivery: PlannedDelivery, entry: HistoryEntry): string | undefined => {
      const { status } = entry;
      const { notification } = delivery;
      const isDeleted = deletedAtMs(observations, notification.index) !== undefined;
      switch (status) {
        case 'delivered':
          if (arrivalsOf(delivery).length === 0) return 'nothing arrived';
          return isBounced(delivery) && !isUncertain(delivery) ? 'it bounced' : undefined;
        case 'bounced':
          return isBounced(delivery) || isUncertain(delivery) || !isOnlyOfType(delivery)
            ? undefined
            : 'it did not bounce';
        case 'superseded':
          // If it arrived and could not be recorded, a repeat of its event is the newest of the incident.
          return isSuperseded(delivery) || isUncertain(delivery) ? undefined : 'nothing newer arrived';
        case 'cancelled':
          return isDeleted || isWithheld(delivery, entry) ? undefined : 'nobody deleted the notification';
        case 'summarized':
          return hasSummary(delivery, entry) ? undefined : 'there is no summary';
        case 'failed':
          return isDeleted || entry.reason === 'no_contacts' || isStopped(entry) || isAboveDailyLimit(entry)
            ? undefined
            : 'it was not redelivered';
        default:
          // Unless the service said that it could not record the result.
          return unrecorded.includes(`:ch${delivery.event.number}:`) ? undefined : 'everything has ended';
      }
    };

    const countProblem = ({ event, notification }: PlannedDelivery, { attempts }: HistoryEntry): string | undefined => {
      if (isSentByAws(notification.type) || scenario.privateWebhooks.includes(notification.index)) return undefined;
      const sent = requests.filter(({ to, numbers }) => to === notification.key && numbers.includes(event.number));
      if (attempts.length > sent.length) return `it has ${attempts.length} attempts, and ${sent.length} requests came`;
      const recorded = sent.filter((request) => !mayBeUnrecorded(request, observations));
      if (attempts.length < Math.min(recorded.length, MAX_ATTEMPTS))
        return `it has ${attempts.length} attempts, but ${recorded.length} of ${sent.length} requests must be recorded`;
      if (recorded.length < sent.length) return undefined;
      const rounds = 1 + people.filter(({ action }) => action.kind === 'redeliver').length + redrives.length;
      return sent.length > rounds * MAX_ATTEMPTS ? `${sent.length} requests came in ${rounds} rounds` : undefined;
    };

    return plannedDeliveries(scenario)
      .filter(({ event }) => event.alteredAfterMs === undefined)
      .flatMap((delivery) => {
        const { event, notification } = delivery;
        const entry = history.find(
          ({ notification: index, event_id }) =>
            index === notification.index && event_id.includes(`:ch${event.number}:`),
        );
        if (!entry)
          return deletedAtMs(observations, notification.index) === undefined
            ? [`${nameOf(delivery)} has no record.`]
            : [];
        const isUnknown = entry.status !== 'delivered' && Number.isFinite(reachedAtMs(delivery));
        const problem =
          isUnknown && isOnlyOne(delivery)
            ? 'it arrived'
            : (problemOf(delivery, entry) ?? countProblem(delivery, entry));
        return problem === undefined ? [] : [`${nameOf(delivery)} is ${entry.status}, but ${problem}.`];
      });
  },
};
