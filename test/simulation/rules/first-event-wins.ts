import { nameOf, plannedAlerts } from './planned-alerts.ts';
import { requestsOf } from './requests.ts';
import type { Rule } from './rule.ts';

/** After an event was sent to a webhook, no other event with its ID follows. */
export const firstEventWins: Rule = {
  name: 'the first event with an ID wins',
  violations: (observations) =>
    plannedAlerts(observations.scenario)
      .filter(({ event }) => event.alteredAfterMs !== undefined)
      .flatMap((alert) => {
        const [first] = requestsOf(observations, alert);
        const altered = observations.arrivals.find(
          ({ to, text }) => to === alert.to && text.includes(`:ch${alert.event.number}:`) && text.includes('"altered"'),
        );
        return first && altered && altered.atMs > first.atMs
          ? [`${nameOf(alert)} was followed by another event with its ID.`]
          : [];
      }),
};
