import { nameOf, plannedAlerts } from './planned-alerts.ts';
import { isDisturbed, requestsOf } from './requests.ts';
import type { Rule } from './rule.ts';

/** When no message is left, no delivery is pending, unless its result could not be recorded. */
export const historyIsTrue: Rule = {
  name: 'the history is true',
  violations(observations) {
    const { history, scenario } = observations;
    const pending = history.filter(({ status }) => status === 'pending');
    return plannedAlerts(scenario)
      .filter(({ event, notification }) =>
        pending.some(
          (entry) => entry.notification === notification.index && entry.event_id.includes(`:ch${event.number}:`),
        ),
      )
      .filter((alert) => !requestsOf(observations, alert).some((request) => isDisturbed(request, observations)))
      .map((alert) => `${nameOf(alert)} is pending for ever.`);
  },
};
