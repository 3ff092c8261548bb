import { createOutcomes } from './alert-outcomes.ts';
import { nameOf, plannedDeliveries } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** Senders read the account every minute, by clocks that are up to 2 s off. */
const CACHE_MS = 65_000;

/** No alert of an event that SQS accepted in shadow mode arrives. */
export const shadowWithholdsAlerts: Rule = {
  name: 'shadow mode withholds alerts',
  violations(observations) {
    const { scenario, shadows } = observations;
    const { arrivalsOf } = createOutcomes(observations);
    const isWithheld = (tenant: string, times: readonly number[]): boolean =>
      shadows.some(
        (period) =>
          period.tenant === tenant && times.every((atMs) => period.fromMs + CACHE_MS < atMs && atMs < period.untilMs),
      );
    const sent = plannedDeliveries(scenario).filter(
      (delivery) =>
        isWithheld(
          delivery.event.tenant,
          [0, ...delivery.event.repeatsAfterMs].map((delayMs) => delivery.event.atMs + delayMs),
        ) && arrivalsOf(delivery).length > 0,
    );
    return sent.map((delivery) => `${nameOf(delivery)} arrived in shadow mode.`);
  },
};
