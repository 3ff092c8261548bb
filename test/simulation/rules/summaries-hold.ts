import type { Observations } from '../world/observations.ts';
import type { PlannedNotification, PlannedTenant } from '../world/scenario.ts';
import { plannedAlerts } from './planned-alerts.ts';
import { areFunctionsCalm, requestsOf, sendersOf } from './requests.ts';
import type { Rule } from './rule.ts';

const MINUTE_MS = 60_000;

/** An alert is sent at most so long after its sender decided by its clock to which window it belongs. */
const SLACK_MS = 5_000;

const PERIOD = /Alerts from (\d{4}-\d\d-\d\d \d\d:\d\d) UTC to (\d{4}-\d\d-\d\d \d\d:\d\d) UTC/;

const timeMs = (text: string): number => Date.parse(`${text.replace(' ', 'T')}:00Z`);

/**
 * Returns when each alert of a notification was sent, ms since the epoch: all times, and the first time of those that
 * belong to the window of this time. An alert that AWS did not accept before belongs to that of its first attempt.
 */
const sentMs = (
  observations: Observations,
  { index, type }: PlannedNotification,
  lengthMs: number,
): { first: number[]; all: number[] } => {
  const { scenario, startMs } = observations;
  const windowOf = (atMs: number): number => Math.floor((startMs + atMs) / lengthMs);
  const alerts = plannedAlerts(scenario)
    .filter(({ notification }) => notification.index === index)
    .map((alert) => ({ acceptedMs: alert.event.atMs, times: requestsOf(observations, alert).map(({ atMs }) => atMs) }));
  const first = alerts.flatMap(({ acceptedMs, times: [atMs] }) =>
    atMs !== undefined &&
    (windowOf(acceptedMs) === windowOf(atMs) || areFunctionsCalm(observations, sendersOf(type), acceptedMs, atMs))
      ? [startMs + atMs]
      : [],
  );
  return { first, all: alerts.flatMap(({ times }) => times.map((atMs) => startMs + atMs)) };
};

const violationsOf = (
  observations: Observations,
  { summaries }: PlannedTenant,
  notification: PlannedNotification,
): string[] => {
  if (!summaries) return [];
  const after = notification.type === 'sms' ? summaries.sms_after : summaries.email_after;
  const lengthMs = summaries.window_minutes * MINUTE_MS;
  const { first, all } = sentMs(observations, notification, lengthMs);
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
  // An alert that was redelivered counts in the window of its new round, too.
  const isCalm = ({ fromMs, toMs }: { fromMs: number; toMs: number }): boolean =>
    areFunctionsCalm(
      observations,
      sendersOf(notification.type),
      fromMs - observations.startMs - MINUTE_MS,
      toMs - observations.startMs + MINUTE_MS,
    );
  const tooFew = periods
    .filter(isCalm)
    .map(({ fromMs, toMs }) => all.filter((ms) => ms >= fromMs && ms <= toMs + SLACK_MS).length)
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
