import { isDeepStrictEqual } from 'node:util';
import { type HistoryEntry, historyEntrySchema } from '../world/observations.ts';
import { recipientsOf } from '../world/receivers.ts';
import { isSentByAws } from '../world/scenario.ts';
import { createOutcomes, isAboveDailyLimit, isOnlyOfType, isSuperseded } from './alert-outcomes.ts';
import { isUnrecorded } from './duplicates-are-explained.ts';
import {
  deletedAtMs,
  isInShadow,
  mayBeMuted,
  nameOf,
  type PlannedDelivery,
  unalteredDeliveries,
} from './planned-alerts.ts';
import { entriesOf, MAX_ATTEMPTS, mayBeUnrecorded } from './requests.ts';
import type { Rule } from './rule.ts';
import { isStopped } from './stops-hold.ts';

/** The status of each delivery agrees with what arrived, and with what people did. */
export const historyAgrees: Rule = {
  name: 'the history agrees with what arrived',
  violations(observations) {
    const { scenario, history, arrivals, requests, people, redrives } = observations;
    const { arrivalsOf, isBounced, reachedAtMs } = createOutcomes(observations);
    const unrecorded = observations.logs.filter((line) => line.includes('delivered but not recorded')).join('\n');

    const hasSummary = ({ notification, tenant }: PlannedDelivery, { summary_id: id }: HistoryEntry): boolean => {
      const summary = history.find((entry) => entry.event_id === id && entry.notification === notification.index);
      const recipients = recipientsOf(notification, tenant);
      const hasArrived = arrivals.some(({ to, kind }) => kind === 'summary' && recipients.includes(to));
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
          return isSuperseded(delivery, observations) || isUncertain(delivery) ? undefined : 'nothing newer arrived';
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

    return unalteredDeliveries(scenario).flatMap((delivery) => {
      const [entry] = entriesOf(history, delivery);
      if (!entry)
        return deletedAtMs(observations, delivery.notification.index) === undefined
          ? [`${nameOf(delivery)} has no record.`]
          : [];
      const isUnknown = entry.status !== 'delivered' && Number.isFinite(reachedAtMs(delivery));
      const problem =
        isUnknown && isOnlyOne(delivery) ? 'it arrived' : (problemOf(delivery, entry) ?? countProblem(delivery, entry));
      return problem === undefined ? [] : [`${nameOf(delivery)} is ${entry.status}, but ${problem}.`];
    });
  },
};

/** The history says when servers accepted the emails of an alert, and when they were last delayed, and nothing else. */
export const emailsAreConfirmed: Rule = {
  name: 'emails are confirmed',
  violations({ scenario, history, emailProgress, ids }) {
    return unalteredDeliveries(scenario).flatMap((delivery) => {
      const { event, notification } = delivery;
      const [entry] = entriesOf(history, delivery);
      const last = (wanted: string): number | undefined => {
        const times = emailProgress
          .filter(({ of, kind }) => of === 'alert' && kind === wanted)
          .filter(
            ({ notificationId, numbers }) =>
              notificationId === ids.get(notification.index) && numbers[0] === event.number,
          )
          .map(({ timestampMs }) => timestampMs);
        return times.length > 0 ? Math.max(...times) : undefined;
      };
      const [confirmed, delayed] = [last('confirmed'), last('delayed')];
      return !entry || (entry.confirmed_at === confirmed && entry.delayed_at === delayed)
        ? []
        : [
            `${nameOf(delivery)} has confirmed_at ${entry.confirmed_at} and delayed_at ${entry.delayed_at}, not ${confirmed} and ${delayed}.`,
          ];
    });
  },
};

/**
 * A search for an event finds each record in the histories of its tenant's notifications once, and no other. Those of
 * deleted notifications are found if another record of the event lists them, without a type.
 */
export const searchesAgree: Rule = {
  name: 'a search finds what the histories contain',
  violations(observations) {
    const { history, foundEvents, ids } = observations;
    const indexes = new Map([...ids].map(([index, id]) => [id, index]));
    return foundEvents.flatMap(({ eventId, indexes: ofTenant, deliveries }) => {
      const expected = history.filter(
        ({ event_id, notification }) => event_id === eventId && ofTenant.includes(notification),
      );
      const found = deliveries.flatMap(({ notification_id, type, ...delivery }) => {
        const notification = indexes.get(notification_id);
        const entry = historyEntrySchema.parse(delivery);
        return notification === undefined ? [] : [{ ...entry, notification, type }];
      });
      const missing = expected.filter(
        ({ notification }) =>
          deletedAtMs(observations, notification) === undefined &&
          !found.some((entry) => entry.notification === notification),
      );
      const wrong = found.filter(
        ({ type, ...entry }, index) =>
          !expected.some((other) => isDeepStrictEqual(other, entry)) ||
          found.findIndex(({ notification }) => notification === entry.notification) < index ||
          (type === null && deletedAtMs(observations, entry.notification) === undefined),
      );
      return [
        ...missing.map(({ notification }) => `${eventId} of d${notification} is not found.`),
        ...wrong.map(({ notification }) => `${eventId} of d${notification} is found twice, or not as in its history.`),
      ];
    });
  },
};
