import { nameOf, plannedAlerts } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** Of different events with one ID, a webhook gets only one: that which was claimed first. */
export const firstEventWins: Rule = {
  name: 'the first event with an ID wins',
  violations: (observations) =>
    plannedAlerts(observations.scenario)
      .filter(({ event }) => event.alteredAfterMs !== undefined)
      .flatMap((alert) => {
        const own = observations.requests.filter(
          ({ to, body }) => to === alert.to && body.includes(`:ch${alert.event.number}:`),
        );
        const altered = own.filter(({ body }) => body.includes(' altered"')).length;
        return altered > 0 && altered < own.length ? [`${nameOf(alert)} and another event with its ID were sent.`] : [];
      }),
};
