import type { HistoryEntry } from '../world/observations.ts';
import { isInOrder } from '../world/scenario.ts';
import { isAboveDailyLimit } from './alert-outcomes.ts';
import { mayBeStopped } from './email-stops.ts';
import {
  deletedAtMs,
  eventsOf,
  isInShadow,
  isSupersededInShadow,
  mayBeMuted,
  mayBeOlder,
  nameOf,
  type PlannedAlert,
  plannedAlerts,
} from './planned-alerts.ts';
import type { Rule } from './rule.ts';
import { isStopped } from './stops-hold.ts';

/** Clocks of functions are up to 2 s off. */
const MAX_SKEW_MS = 2_000;

/**
 * Every planned alert arrived, is named in a summary that arrived, was superseded by a newer one that arrived, or was
 * cancelled with its notification, or failed above a daily limit, or because its recipient was stopped. What failed was
 * redelivered at the end, when all destinations accept.
 */
export const nothingIsLost: Rule = {
  name: 'no alert is lost',
  violations(observations) {
    const { arrivals, scenario, history } = observations;
    const events = new Map(eventsOf(scenario).map((event) => [event.number, event]));

    const hasArrived = ({ event, to }: PlannedAlert): boolean =>
      arrivals.some(
        (arrival) =>
          arrival.to === to &&
          arrival.kind === 'alert' &&
          (arrival.numbers.includes(event.number) ||
            // Another event with its ID was first.
            (event.alteredAfterMs !== undefined && arrival.text.includes(`:ch${event.number}:`))),
      );

    const isInSummary = ({ event, to, notification }: PlannedAlert): boolean =>
      arrivals.some(
        (arrival) =>
          arrival.kind === 'summary' &&
          arrival.to === to &&
          arrival.atMs >= event.atMs &&
          (notification.type === 'sms' ||
            arrival.numbers.some((number) => {
              const named = events.get(number);
              return named?.tenant === event.tenant && named.alarm === event.alarm && named.timeMs >= event.timeMs;
            })),
      );

    const isSuperseded = ({ event, to, notification }: PlannedAlert): boolean =>
      isInOrder(notification) &&
      (isSupersededInShadow(event, observations) ||
        arrivals.some((arrival) => {
          if (arrival.to !== to || arrival.kind !== 'alert') return false;
          return arrival.numbers.some((number) => {
            const newer = events.get(number);
            return newer !== undefined && mayBeOlder(event, newer);
          });
        }));

    const entriesOf = ({ event, notification }: PlannedAlert): HistoryEntry[] =>
      history.filter(
        (entry) => entry.notification === notification.index && entry.event_id.includes(`:ch${event.number}:`),
      );

    const summaryOf = ({ notification, summary_id }: HistoryEntry): HistoryEntry | undefined =>
      history.find((other) => other.event_id === summary_id && other.notification === notification);

    /** Whether the alert may have been attempted only while the contact was stopped, who is skipped then. */
    const isSkipped = (alert: PlannedAlert): boolean =>
      alert.notification.type === 'technicalContactsEmail' &&
      entriesOf(alert).some((entry) => {
        const { status, updated_at } = summaryOf(entry) ?? entry;
        // The result of a pending one could not be recorded.
        const untilMs =
          status === 'pending' ? Number.POSITIVE_INFINITY : updated_at - observations.startMs + MAX_SKEW_MS;
        return mayBeStopped(observations, alert.to, alert.event.atMs, untilMs);
      });

    const wasStopped = (entry: HistoryEntry): boolean => isStopped(entry) || isStopped(summaryOf(entry) ?? entry);

    const statusOf = (alert: PlannedAlert): string =>
      entriesOf(alert)
        .map(({ status, reason }) => `${status} ${reason ?? ''}`)
        .join(', ');

    return plannedAlerts(scenario)
      .filter((alert) => !isInShadow(alert.event, observations) && !mayBeMuted(alert, observations))
      .filter((alert) => deletedAtMs(observations, alert.notification.index) === undefined)
      .filter((alert) => !hasArrived(alert) && !isInSummary(alert) && !isSuperseded(alert))
      .filter((alert) => !isSkipped(alert))
      .filter((alert) => !entriesOf(alert).some((entry) => isAboveDailyLimit(entry) || wasStopped(entry)))
      .map((alert) => `${nameOf(alert)} is lost: its record is ${statusOf(alert) || 'missing'}.`);
  },
};
