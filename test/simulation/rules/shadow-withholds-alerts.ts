import { eventIdOf } from '../world/alarm-events.ts';
import { createOutcomes } from './alert-outcomes.ts';
import { noticesOf } from './notices.ts';
import { eventsOf, nameOf, plannedDeliveries } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** Senders read the account every minute, by clocks that are up to 2 s off. */
const CACHE_MS = 65_000;

/** A notice is sent within this time, also if its sender and that of the alert are killed once. */
const MAX_NOTICE_MS = 10 * 60_000;

/** No alert of an event that SQS accepted in shadow mode arrives, and the operators get a notice of it. */
export const shadowWithholdsAlerts: Rule = {
  name: 'shadow mode withholds alerts',
  violations(observations) {
    const { scenario, shadows, history, startMs, refusals, faults } = observations;
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
    const noticed = new Set(
      noticesOf(observations).flatMap(({ kind, tenant }) => (kind === 'shadow' ? [tenant.name] : [])),
    );
    // Notices that are withheld need none, and a notice that is sent after the mode has ended is dropped.
    const alertIds = new Set(eventsOf(scenario).map(eventIdOf));
    // A notice that is sent again for hours is dropped when the mode ends meanwhile.
    const mayBeLate = (tenant: string): boolean =>
      refusals.some(({ to }) => to === `tenant ${tenant}`) ||
      faults.some(({ environmentId }) => environmentId.startsWith('send-managed#'));
    const unnoticed = shadows.filter(
      ({ tenant, untilMs }) =>
        !noticed.has(tenant) &&
        !mayBeLate(tenant) &&
        history.some(
          ({ event_id, reason, updated_at }) =>
            reason === 'shadow' &&
            event_id.startsWith(`${tenant}:`) &&
            alertIds.has(event_id) &&
            updated_at + MAX_NOTICE_MS < startMs + untilMs,
        ),
    );
    return [
      ...sent.map((delivery) => `${nameOf(delivery)} arrived in shadow mode.`),
      ...unnoticed.map(({ tenant }) => `The operators got no notice of the shadow mode of ${tenant}.`),
    ];
  },
};
