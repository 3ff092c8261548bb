import type { Observations } from '../world/observations.ts';
import type { PlannedNotification, PlannedTenant } from '../world/scenario.ts';
import { plannedAlerts } from './planned-alerts.ts';
import { areFunctionsCalm, entriesOf, requestsOf, sendersOf } from './requests.ts';
import type { Rule } from './rule.ts';

const MINUTE_MS = 60_000;

/** An alert is sent at most so long after its sender decided by its clock to which window it belongs. */
const SLACK_MS = 5_000;

const PERIOD = /Alerts from (\d{4}\S+ \d\d:\d\d UTC\S*) to (\d{4}\S+ \d\d:\d\d UTC\S*)\./;

/** Returns a time such as `2026-01-01 05:45 UTC+05:45` in ms since the epoch. */
const timeMs = (text: string): number => Date.parse(text.replace(' ', 'T').replace(/ UTC$/, 'Z').replace(' UTC', ''));

/** An alert: when SQS accepted its event, and when it was sent, ms since the start; the summary that lists it. */
type SentAlert = { acceptedMs: number; times: readonly number[]; summaryId: string | undefined };

const alertsOf = (observations: Observations, { index }: PlannedNotification): SentAlert[] =>
  plannedAlerts(observations.scenario)
    .filter(({ notification }) => notification.index === index)
    .map((alert) => ({
      acceptedMs: alert.event.atMs,
      times: requestsOf(observations, alert).map(({ atMs }) => atMs),
      summaryId: entriesOf(observations.earlierHistory, alert)[0]?.summary_id ?? undefined,
    }));

/**
 * Returns when those alerts were first sent that belong to the window of this time, ms since the epoch. An alert that AWS
 * did not accept before belongs to that of its first attempt.
 */
const firstSentMs = (
  observations: Observations,
  alerts: readonly SentAlert[],
  { type }: PlannedNotification,
  lengthMs: number,
): number[] => {
  const { startMs } = observations;
  const windowOf = (atMs: number): number => Math.floor((startMs + atMs) / lengthMs);
  return alerts.flatMap(({ acceptedMs, times: [atMs] }) =>
    atMs !== undefined &&
    (windowOf(acceptedMs) === windowOf(atMs) || areFunctionsCalm(observations, sendersOf(type), acceptedMs, atMs))
      ? [startMs + atMs]
      : [],
  );
};

const violationsOf = (
  observations: Observations,
  { summaries }: PlannedTenant,
  notification: PlannedNotification,
): string[] => {
  if (!summaries) return [];
  const after = notification.type === 'sms' ? summaries.sms_after : summaries.email_after;
  const lengthMs = summaries.window_minutes * MINUTE_MS;
  const { startMs } = observations;
  const alerts = alertsOf(observations, notification);
  const first = firstSentMs(observations, alerts, notification, lengthMs);
  const windows = Map.groupBy(
    // By a fast clock, the next window has started.
    first.filter((ms) => ms % lengthMs > SLACK_MS && ms % lengthMs < lengthMs - observations.scenario.maxSkewMs),
    (ms) => Math.floor(ms / lengthMs),
  );
  const tooMany = [...windows.values()]
    .filter(({ length }) => length > after)
    .map(({ length }) => `${notification.key} got ${length} alerts in a window, not ${after}.`);
  const periods = observations.arrivals
    .filter(({ to, kind }) => to === notification.key && kind === 'summary')
    .flatMap(({ text }) => {
      const [, from, to] = PERIOD.exec(text) ?? [];
      return from === undefined || to === undefined ? [] : [{ fromMs: timeMs(from), toMs: timeMs(to) }];
    });
  // An alert that was counted before its sender failed is sent later, listed in the summary of a later window, or
  // cancelled if its notification is deleted.
  const isCountedOnly = ({ acceptedMs, summaryId, times }: SentAlert, fromMs: number): boolean =>
    startMs + acceptedMs >= fromMs &&
    (summaryId === undefined ? times.length === 0 : !summaryId.endsWith(`:${fromMs}:summary`));
  const tooFew = periods
    .map(
      ({ fromMs, toMs }) =>
        alerts.filter(
          (alert) =>
            startMs + alert.acceptedMs <= toMs &&
            (alert.times.some((ms) => startMs + ms >= fromMs - SLACK_MS) || isCountedOnly(alert, fromMs)),
        ).length,
    )
    .filter((count) => count < after)
    .map((count) => `${notification.key} got a summary of a window in which ${count} alerts were sent, not ${after}.`);
  return [...tooMany, ...tooFew];
};

/** As many alerts of a window as the account wants are sent at once, and the others are summarized. */
export const summariesHold: Rule = {
  name: 'summaries are as the account wants them',
  violations(observations) {
    const { scenario, people } = observations;
    return scenario.tenants
      .filter(({ limits }) => Object.keys(limits).length === 0)
      .filter(({ name }) => !people.some(({ action }) => action.kind === 'summaries' && action.tenant === name))
      .flatMap((tenant) =>
        tenant.notifications
          .filter(({ type }) => type === 'email' || type === 'sms')
          .flatMap((notification) => violationsOf(observations, tenant, notification)),
      );
  },
};
