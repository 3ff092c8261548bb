import type { HistoryEntry, Observations } from '../world/observations.ts';
import type { Arrival } from '../world/receivers.ts';
import { recipientsOf } from '../world/receivers.ts';
import { isUnrecorded } from './duplicates-are-explained.ts';
import type { PlannedDelivery } from './planned-alerts.ts';

/**
 * Returns whether an alert failed because it was above a daily limit (`limitsAreUsed` says when that is right): at once, or,
 * if its dead letter could not be sent, after attempts that all were.
 */
export const isAboveDailyLimit = ({ status, reason, attempts }: HistoryEntry): boolean =>
  status === 'failed' &&
  (reason === 'tenant_limit_exceeded' ||
    (reason === 'attempts_exhausted' && attempts.every((attempt) => attempt.reason === 'tenant_limit_exceeded')));

/** Returns whether what arrived for the event at a recipient can only be this delivery: several can go to the contacts. */
export const isOnlyOfType = ({ event, notification, tenant }: PlannedDelivery): boolean =>
  tenant.notifications.filter(({ index, type }) => type === notification.type && event.notifications.includes(index))
    .length === 1;

/** Returns functions that tell what happened to planned deliveries, from what arrived and what the history shows. */
export const createOutcomes = (observations: Observations) => {
  const alerts = Map.groupBy(
    observations.arrivals.filter(({ kind }) => kind === 'alert'),
    ({ to }) => to,
  );
  const entries = Map.groupBy(observations.earlierHistory, ({ notification }) => notification);

  const arrivalsOf = ({ event, notification, tenant }: PlannedDelivery): Arrival[] =>
    recipientsOf(notification, tenant)
      .flatMap((to) => alerts.get(to) ?? [])
      .filter(({ numbers }) => numbers.includes(event.number))
      .toSorted((left, right) => left.atMs - right.atMs);

  const hasBounced = ({ notification }: PlannedDelivery, { to, numbers }: Arrival): boolean =>
    observations.emailReports.some(
      (report) =>
        report.to === to &&
        report.of === 'alert' &&
        report.kind !== 'Complaint' &&
        report.notificationId === observations.ids.get(notification.index) &&
        report.numbers[0] === numbers[0],
    );

  return {
    arrivalsOf,

    /** Returns whether the alert arrived at recipients and bounced at all of them. */
    isBounced(delivery: PlannedDelivery): boolean {
      const arrived = arrivalsOf(delivery);
      return arrived.length > 0 && arrived.every((arrival) => hasBounced(delivery, arrival));
    },

    /** Returns when the alert first reached a recipient, whether its sender recorded that or not, or Infinity. */
    arrivedAtMs: (delivery: PlannedDelivery): number =>
      arrivalsOf(delivery).find((arrival) => !hasBounced(delivery, arrival))?.atMs ?? Number.POSITIVE_INFINITY,

    /** Returns when the alert first reached a recipient so that its sender recorded it, ms since the start, or Infinity. */
    reachedAtMs: (delivery: PlannedDelivery): number =>
      arrivalsOf(delivery).find((arrival) => !isUnrecorded(arrival, observations) && !hasBounced(delivery, arrival))
        ?.atMs ?? Number.POSITIVE_INFINITY,

    /** Returns the record of the delivery before what had failed was redelivered at the end. */
    entryOf: ({ event, notification }: PlannedDelivery): HistoryEntry | undefined =>
      entries.get(notification.index)?.find(({ event_id }) => event_id.includes(`:ch${event.number}:`)),
  };
};

/** What happened to planned deliveries. */
export type Outcomes = ReturnType<typeof createOutcomes>;
