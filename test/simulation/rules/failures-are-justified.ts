import type { HistoryEntry, Observations } from '../world/observations.ts';
import { recipientsOf } from '../world/receivers.ts';
import type { PlannedTenant } from '../world/scenario.ts';
import { isAboveDailyLimit } from './alert-outcomes.ts';
import { mayBeStopped } from './email-stops.ts';
import { nameOf, type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import { MAX_ATTEMPTS, requestsOf } from './requests.ts';
import type { Rule } from './rule.ts';
import { isStopped } from './stops-hold.ts';

const isRejected = ({ refusals }: Observations, kind: 'alert' | 'summary', to: string, number?: number): boolean =>
  refusals.some(
    (refusal) =>
      refusal.to === to &&
      refusal.kind === kind &&
      refusal.behavior === 'reject' &&
      (number === undefined || refusal.numbers.includes(number)),
  );

/**
 * Returns whether each recipient of an alert got it, rejected it, or was tried often enough: the others are retried, even
 * if one rejects it. An attempt to send to a private address reaches nobody.
 */
const mayHaveFailed = (alert: PlannedAlert, observations: Observations): boolean =>
  observations.scenario.privateWebhooks.includes(alert.notification.index) ||
  recipientsOf(alert.notification, alert.tenant).every((to) => {
    const requests = requestsOf(observations, { ...alert, to }).filter(({ atMs }) => atMs < observations.redeliveredMs);
    return (
      requests.length >= MAX_ATTEMPTS ||
      requests.some(({ isAccepted }) => isAccepted) ||
      // Of several contacts, those that are stopped are skipped.
      mayBeStopped(observations, to, alert.event.atMs, observations.redeliveredMs) ||
      isRejected(observations, 'alert', to, alert.event.number)
    );
  });

/** Returns whether a summary waited for days, because only a few messages per day are permitted. */
const isExpiredAboveLimit = ({ reason, attempts }: HistoryEntry, { limits }: PlannedTenant): boolean =>
  reason === 'expired' && attempts.length === 0 && Object.keys(limits).length > 0;

/**
 * A delivery fails only because its destination rejected it, because the account has no contacts, or after its last
 * attempt. So do summaries.
 */
export const failuresAreJustified: Rule = {
  name: 'failures are justified',
  violations(observations) {
    const { earlierHistory, scenario } = observations;
    const failed = earlierHistory.filter(
      (entry) =>
        entry.status === 'failed' &&
        entry.reason !== 'no_contacts' &&
        // They have rules of their own.
        !isStopped(entry) &&
        !isAboveDailyLimit(entry),
    );
    const alerts = plannedAlerts(scenario)
      // Another event with its ID may have arrived first, and names no number.
      .filter(({ event }) => event.alteredAfterMs === undefined)
      .filter(({ event, notification }) =>
        failed.some(
          (entry) => entry.notification === notification.index && entry.event_id.includes(`:ch${event.number}:`),
        ),
      )
      .filter((alert) => !mayHaveFailed(alert, observations))
      .map((alert) => `${nameOf(alert)} failed, although its destination did not reject it.`);
    const summaries = scenario.tenants.flatMap((tenant) =>
      tenant.notifications
        .filter(({ index }) =>
          failed.some(
            (entry) =>
              entry.notification === index &&
              entry.event_id.endsWith(':summary') &&
              !isExpiredAboveLimit(entry, tenant),
          ),
        )
        .filter((notification) =>
          recipientsOf(notification, tenant).every((to) => !isRejected(observations, 'summary', to)),
        )
        .map(({ key }) => `A summary of ${key} failed, although its destination did not reject it.`),
    );
    return [...alerts, ...summaries];
  },
};
