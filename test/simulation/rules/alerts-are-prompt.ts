import type { Observations } from '../world/observations.ts';
import type { PlannedTenant } from '../world/scenario.ts';
import { mayBeStopped } from './email-stops.ts';
import { isInShadow, mayBeMuted, nameOf, type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import { areFunctionsCalm, requestsOf, sendersOf } from './requests.ts';
import type { Rule } from './rule.ts';

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
