import type { HistoryEntry } from '../world/observations.ts';
import { notificationsOf, type PlannedNotification } from '../world/scenario.ts';

import { deletedAtMs } from './planned-alerts.ts';
import { areFunctionsCalm, hasOneRound, sendersOf } from './requests.ts';
import type { Rule } from './rule.ts';

/** The newest deliveries of a notification among which the last success is looked for. */
const NEWEST_DELIVERIES = 20;

/**
 * An open circuit, AWS's rate and the daily limit of summaries prevent attempts. These failures are counted, and are not in
 * the history.
 */
const NOT_IN_HISTORY: readonly (string | null | undefined)[] = ['circuit_open', 'throttled', 'tenant_limit_exceeded'];

/** How long the requests take that read the history and the failures, ms. */
const MAX_READ_MS = 2_000;

const failedAttempts = ({ attempts }: HistoryEntry) => attempts.filter(({ result }) => result !== 'delivered');

/** Without faults of its senders, `GET /failures` of a notification counts each alert with a failed attempt, and shows the last reason and success. */
export const failuresAreListed: Rule = {
  name: 'failures are listed',
  violations(observations) {
    const { scenario, earlierHistory, failingNotifications, ids, emailReports, redeliveredMs } = observations;
    // The last success is read eventually consistently.
    const replicatedMs = observations.startMs + redeliveredMs - scenario.replicationLagMs - MAX_READ_MS;
    // A message that is received twice, or while another worker is slow, may be counted twice.
    if (scenario.rates.duplicateReceives > 0 || scenario.rates.slowCall > 0) return [];
    const isCalm = ({ index, type }: PlannedNotification): boolean =>
      areFunctionsCalm(observations, sendersOf(type), 0, redeliveredMs) &&
      areFunctionsCalm(observations, /^(record-email-events|list-failures)#/, 0, redeliveredMs) &&
      !emailReports.some(({ notificationId }) => notificationId === ids.get(index));
    const problemsOf = ({ index, key }: PlannedNotification): string[] => {
      const entries = earlierHistory.filter(({ notification }) => notification === index);
      const failed = entries.filter((entry) => failedAttempts(entry).length > 0);
      const listed = failingNotifications.get(ids.get(index) ?? '');
      const last = failed
        .flatMap(failedAttempts)
        .toSorted((left, right) => left.timestamp + left.duration_ms - right.timestamp - right.duration_ms)
        .at(-1);
      const isFew = entries.length <= NEWEST_DELIVERIES;
      const hasDelivered = failed.some(({ status, updated_at }) => status === 'delivered' && updated_at < replicatedMs);
      const count = listed?.failed ?? 0;
      // A delivery to a stopped mailbox fails without an attempt.
      const hasEnded = entries.some(({ status, reason }) => status === 'failed' && reason === listed?.last_reason);
      return [
        ...(failed.length <= count && count <= entries.length
          ? []
          : [`${failed.length} alerts to ${key} had failed attempts, and ${count} are counted.`]),
        ...(NOT_IN_HISTORY.includes(listed?.last_reason) ||
        hasEnded ||
        (listed?.last_reason ?? null) === (last?.reason ?? null)
          ? []
          : [`${key} failed last for ${last?.reason}, and ${listed?.last_reason} is listed.`]),
        ...(isFew && hasDelivered && listed?.last_delivered_at === undefined
          ? [`An alert that had failed was delivered to ${key}, which is not listed.`]
          : []),
      ];
    };
    return scenario.tenants
      .flatMap(notificationsOf)
      .filter(({ index }) => deletedAtMs(observations, index) === undefined)
      .filter(({ index }) =>
        earlierHistory.every((entry) => entry.notification !== index || hasOneRound(observations, entry)),
      )
      .filter(isCalm)
      .flatMap(problemsOf);
  },
};
