import type { Observations } from '../world/observations.ts';
import { isInOrder, isSentByAws, type PlannedTenant } from '../world/scenario.ts';
import { mayBeStopped } from './email-stops.ts';
import { isInShadow, mayBeMuted, nameOf, type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import { type AlertRequest, areFunctionsCalm, isDisturbed, requestsOf, sendersOf } from './requests.ts';
import type { Rule } from './rule.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** The minimum delays after the first attempt, the second and so on, as docs/api.md states them. */
const DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  60 * MINUTE_MS,
  120 * MINUTE_MS,
  240 * MINUTE_MS,
];

/** A destination can delay the next attempt by at most an hour. */
const MAX_RETRY_AFTER_MS = 60 * MINUTE_MS;

/** A retry waits for the batching window of its queue, and again whenever SQS can delay its message no longer, ms. */
const MAX_WINDOW_MS = 23 * SECOND_MS;
const MAX_SQS_DELAY_MS = 15 * MINUTE_MS;

/** Returns the maximum delay before an attempt, which has a jitter of a fifth. */
const maxDelayMs = (delayMs: number): number =>
  1.2 * delayMs + MAX_WINDOW_MS * Math.ceil((1.2 * delayMs) / MAX_SQS_DELAY_MS);

const firstRequestMs = ({ people, redrives }: Observations, notification: number): number =>
  Math.min(
    ...redrives.map(({ startedMs }) => startedMs),
    ...people.flatMap(({ action, startedMs }) =>
      (action.kind === 'redeliver' || action.kind === 'retry-now') && action.notification === notification
        ? [startedMs]
        : [],
    ),
  );

/** Returns the number of attempts: a request that is sent once more on a new connection belongs to the same one. */
const attemptCount = (requests: readonly AlertRequest[]): number =>
  requests.filter(({ by, atMs }, index) => {
    const last = requests[index - 1];
    return last?.by !== by || atMs - last.atMs >= SECOND_MS;
  }).length;

/** Returns the minimum delay after a request. Attempts that AWS throttles, and those that faults hide, do not count. */
const minDelayMs = (before: readonly AlertRequest[], isHttp: boolean, observations: Observations): number => {
  const last = before.at(-1);
  const isCounted = isHttp && !before.some((request) => isDisturbed(request, observations));
  const scheduledMs = DELAYS_MS[isCounted ? attemptCount(before) - 1 : 0] ?? 0;
  return Math.max(scheduledMs, Math.min(last?.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
};

/** Within this time, a message that AWS throttled can only have been sent again in place, ms. */
const MAX_IN_PLACE_MS = 4 * SECOND_MS;

/** Returns whether a sender sent a message again because AWS throttled it (docs/decisions/deliveries.md#shared-rate). */
const isInPlace = (last: AlertRequest, { by, atMs }: AlertRequest): boolean =>
  last.behavior === 'throttle' && by === last.by && atMs - last.atMs < MAX_IN_PLACE_MS;

const tooEarly = (alert: PlannedAlert, observations: Observations): string[] => {
  const { scenario } = observations;
  const requests = requestsOf(observations, alert);
  const untilMs = firstRequestMs(observations, alert.notification.index);
  const isHttp = !isSentByAws(alert.notification.type);
  // Another notification of the event with the same recipient has attempts of its own.
  const isShared = plannedAlerts(scenario).some(
    ({ event, to, notification }) =>
      event.number === alert.event.number && to === alert.to && notification.index !== alert.notification.index,
  );
  if (isShared) return [];
  const toleranceMs = 2 * scenario.maxSkewMs + 100;
  return requests.flatMap((request, index) => {
    const { atMs } = request;
    const before = requests.slice(0, index);
    const last = before.at(-1);
    if (!last || last.isAccepted || atMs >= untilMs || isDisturbed(last, observations)) return [];
    if (!isHttp && isInPlace(last, request)) return [];
    // A retry for one contact goes to all contacts that no attempt has reached.
    const isAlone = alert.notification.type !== 'technicalContactsEmail';
    if (last.behavior === 'reject' && isAlone) return [`${nameOf(alert)} was sent again after it was rejected.`];
    const minMs = minDelayMs(before, isHttp, observations);
    return atMs - last.atMs < minMs - toleranceMs
      ? [`${nameOf(alert)} was sent again after ${atMs - last.atMs} ms instead of ${minMs} ms.`]
      : [];
  });
};

/** Destinations that answer at once, so that no circuit opens. */
const HAS_CIRCUIT = ['hang', 'accept-without-answer', 'accept-slowly'];

/** Returns whether a destination that gets an incident in order got another event of it at about the same time. */
const hasOthersOfIncident = ({ event, notification, to }: PlannedAlert, { scenario }: Observations): boolean => {
  const isOther = (other: PlannedAlert): boolean =>
    other.to === to &&
    other.event.alarm === event.alarm &&
    other.event.number !== event.number &&
    Math.abs(other.event.atMs - event.atMs) < 10 * MINUTE_MS;
  return isInOrder(notification) && plannedAlerts(scenario).some(isOther);
};

const tooLate = (alert: PlannedAlert, observations: Observations): string[] => {
  const isSlow = ({ notifications }: PlannedTenant): boolean =>
    notifications.some(({ phases }) => phases.some(({ behavior }) => HAS_CIRCUIT.includes(behavior)));
  // An attempt to send to a private address reaches nobody.
  const isPrivate = observations.scenario.privateWebhooks.includes(alert.notification.index);
  if (isSlow(alert.tenant) || isPrivate || hasOthersOfIncident(alert, observations)) return [];
  if (isSentByAws(alert.notification.type)) return [];
  const requests = requestsOf(observations, alert);
  const firstOther = requests.findIndex(({ behavior }) => behavior !== 'fail' && behavior !== 'close');
  const [first] = requests;
  return requests.slice(0, firstOther < 0 ? undefined : firstOther).flatMap((last, index) => {
    const [delayMs, next] = [DELAYS_MS[index], requests[index + 1]];
    // The destinations of others may keep senders busy for longer.
    const isBusy = index > 0 && observations.scenario.tenants.some(isSlow);
    if (!first || !next || delayMs === undefined || isBusy) return [];
    const isCalm = areFunctionsCalm(observations, sendersOf(alert.notification.type), first.atMs, next.atMs);
    return isCalm && next.atMs - last.atMs > maxDelayMs(delayMs)
      ? [`${nameOf(alert)} was tried again only after ${next.atMs - last.atMs} ms.`]
      : [];
  });
};

/** No retry is earlier than its schedule and the destination permit, or late, and none follows a rejection. */
export const retriesFollowTheSchedule: Rule = {
  name: 'retries follow the schedule',
  violations: (observations) =>
    plannedAlerts(observations.scenario).flatMap((alert) => [
      ...tooEarly(alert, observations),
      ...tooLate(alert, observations),
    ]),
};

/** What attackers may delay others by, and two cold starts. */
const MAX_DELAY_MS = 20_000;

/** Returns whether all destinations of a tenant answer at once, and its alerts are neither summarized nor limited. */
const isPrompt = ({ kind, notifications, contacts, limits, summaries }: PlannedTenant): boolean =>
  kind !== 'attacker' &&
  summaries === undefined &&
  Object.keys(limits).length === 0 &&
  [...notifications, ...contacts].every(({ phases }) =>
    phases.every(({ behavior }) => behavior === 'accept' || behavior === 'reject'),
  );

/** Returns whether an alert may be sent later for another reason. */
const mayBeLate = ({ event, notification, tenant, to }: PlannedAlert, observations: Observations): boolean =>
  observations.scenario.privateWebhooks.includes(notification.index) ||
  isInShadow(event, observations) ||
  mayBeMuted({ event, notification }, observations) ||
  mayBeStopped(observations, to, event.atMs, event.atMs + MAX_DELAY_MS) ||
  observations.people.some(({ action }) => action.tenant === tenant.name && action.kind === 'summaries');

/** If nothing goes wrong but at destinations of others, the alerts to destinations that answer at once are prompt. */
export const alertsArePrompt: Rule = {
  name: 'alerts are prompt',
  violations: (observations) =>
    observations.scenario.rates.slowCall === 0
      ? plannedAlerts(observations.scenario)
          .filter((alert) => isPrompt(alert.tenant) && !mayBeLate(alert, observations))
          .flatMap((alert) => {
            const [first] = requestsOf(observations, alert);
            const delayMs = (first?.atMs ?? 0) - alert.event.atMs;
            const [fromMs, untilMs] = [alert.event.atMs - MAX_DELAY_MS, alert.event.atMs + delayMs];
            const isCalm = areFunctionsCalm(observations, sendersOf(alert.notification.type), fromMs, untilMs);
            return isCalm && delayMs > MAX_DELAY_MS ? [`${nameOf(alert)} was sent after ${delayMs} ms.`] : [];
          })
      : [],
};
