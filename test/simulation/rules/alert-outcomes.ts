import type { HistoryEntry, Observations } from '../world/observations.ts';
import type { Arrival } from '../world/receivers.ts';
import { recipientsOf } from '../world/receivers.ts';
import { isInOrder } from '../world/scenario.ts';
import { isUnrecorded } from './duplicates-are-explained.ts';
import { eventsOf, isSupersededInShadow, mayBeOlder, type PlannedDelivery } from './planned-alerts.ts';
import { arrivalsOf, entriesOf } from './requests.ts';

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

/** Returns whether a newer event of the incident arrived, or may have been withheld in shadow mode. */
export const isSuperseded = ({ event, notification }: PlannedDelivery, observations: Observations): boolean =>
  isInOrder(notification) &&
  (isSupersededInShadow(event, observations) ||
    eventsOf(observations.scenario).some(
      (newer) =>
        mayBeOlder(event, newer) && arrivalsOf(observations, { event: newer, to: notification.key }).length > 0,
    ));

/** Returns functions that tell what happened to planned deliveries, from what arrived and what the history shows. */
export const createOutcomes = (observations: Observations) => {
  const arrivalsOfDelivery = ({ event, notification, tenant }: PlannedDelivery): Arrival[] =>
    recipientsOf(notification, tenant)
      .flatMap((to) => arrivalsOf(observations, { event, to }))
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

  const firstMs = (delivery: PlannedDelivery, isWanted: (arrival: Arrival) => boolean): number =>
    arrivalsOfDelivery(delivery).find((arrival) => isWanted(arrival) && !hasBounced(delivery, arrival))?.atMs ??
    Number.POSITIVE_INFINITY;

  return {
    arrivalsOf: arrivalsOfDelivery,

    /** Returns whether the alert arrived at recipients and bounced at all of them. */
    isBounced(delivery: PlannedDelivery): boolean {
      const arrived = arrivalsOfDelivery(delivery);
      return arrived.length > 0 && arrived.every((arrival) => hasBounced(delivery, arrival));
    },

    /** Returns when the alert first reached a recipient, whether its sender recorded that or not, or Infinity. */
    arrivedAtMs: (delivery: PlannedDelivery): number => firstMs(delivery, () => true),

    /** Returns when the alert first reached a recipient so that its sender recorded it, ms since the start, or Infinity. */
    reachedAtMs: (delivery: PlannedDelivery): number =>
      firstMs(delivery, (arrival) => !isUnrecorded(arrival, observations)),

    /** Returns the record of the delivery before what had failed was redelivered at the end. */
    entryOf: (delivery: PlannedDelivery): HistoryEntry | undefined =>
      entriesOf(observations.earlierHistory, delivery)[0],
  };
};

/** What happened to planned deliveries. */
export type Outcomes = ReturnType<typeof createOutcomes>;
