import { nameOf, plannedAlerts } from './planned-alerts.ts';
import { areFunctionsCalm, requestsOf, sendersOf } from './requests.ts';
import type { Rule } from './rule.ts';

/** What attackers may delay others by, and two cold starts. */
const MAX_DELAY_MS = 20_000;

/** If nothing goes wrong but at destinations of others, a quiet tenant's alerts are prompt. */
export const quietTenantsArePrompt: Rule = {
  name: 'quiet tenants are prompt',
  violations: (observations) =>
    observations.scenario.rates.slowCall === 0
      ? plannedAlerts(observations.scenario)
          .filter(({ tenant }) => tenant.kind === 'quiet')
          .flatMap((alert) => {
            const [first] = requestsOf(observations, alert);
            const delayMs = (first?.atMs ?? 0) - alert.event.atMs;
            const [fromMs, untilMs] = [alert.event.atMs - MAX_DELAY_MS, alert.event.atMs + delayMs];
            const isCalm = areFunctionsCalm(observations, sendersOf(alert.notification.type), fromMs, untilMs);
            return isCalm && delayMs > MAX_DELAY_MS ? [`${nameOf(alert)} was sent after ${delayMs} ms.`] : [];
          })
      : [],
};
