import type { HistoryEntry } from '../world/observations.ts';
import { MAX_SKEW_MS } from '../world/scenario.ts';
import { isAboveDailyLimit, isSuperseded } from './alert-outcomes.ts';
import { mayBeStopped } from './email-stops.ts';
import {
  deletedAtMs,
  eventsOf,
  isInShadow,
  mayBeMuted,
  nameOf,
  type PlannedAlert,
  plannedAlerts,
} from './planned-alerts.ts';
import { arrivalsOf, entriesOf } from './requests.ts';
import type { Rule } from './rule.ts';
import { isStopped } from './stops-hold.ts';

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

    const hasArrived = (alert: PlannedAlert): boolean =>
      arrivalsOf(observations, alert).length > 0 ||
      // Another event with its ID was first.
      (alert.event.alteredAfterMs !== undefined &&
        arrivals.some(
          ({ to, kind, text }) => to === alert.to && kind === 'alert' && text.includes(`:ch${alert.event.number}:`),
        ));

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

    const summaryOf = ({ notification, summary_id }: HistoryEntry): HistoryEntry | undefined =>
      history.find((other) => other.event_id === summary_id && other.notification === notification);

    /** Whether the alert may have been attempted only while the contact was stopped, who is skipped then. */
    const isSkipped = (alert: PlannedAlert): boolean =>
      alert.notification.type === 'technicalContactsEmail' &&
      entriesOf(history, alert).some((entry) => {
        const { status, updated_at } = summaryOf(entry) ?? entry;
        // The result of a pending one could not be recorded.
        const untilMs =
          status === 'pending' ? Number.POSITIVE_INFINITY : updated_at - observations.startMs + MAX_SKEW_MS;
        return mayBeStopped(observations, alert.to, alert.event.atMs, untilMs);
      });

    const wasStopped = (entry: HistoryEntry): boolean => isStopped(entry) || isStopped(summaryOf(entry) ?? entry);

    const statusOf = (alert: PlannedAlert): string =>
      entriesOf(history, alert)
        .map(({ status, reason }) => `${status} ${reason ?? ''}`)
        .join(', ');

    return plannedAlerts(scenario)
      .filter((alert) => !isInShadow(alert.event, observations) && !mayBeMuted(alert, observations))
      .filter((alert) => deletedAtMs(observations, alert.notification.index) === undefined)
      .filter((alert) => !hasArrived(alert) && !isInSummary(alert) && !isSuperseded(alert, observations))
      .filter((alert) => !isSkipped(alert))
      .filter((alert) => !entriesOf(history, alert).some((entry) => isAboveDailyLimit(entry) || wasStopped(entry)))
      .map((alert) => `${nameOf(alert)} is lost: its record is ${statusOf(alert) || 'missing'}.`);
  },
};
