import { nameOf, plannedAlerts } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** When no message is left, no delivery is pending, unless the service said that it could not record its result. */
export const historyIsTrue: Rule = {
  name: 'the history is true',
  violations({ history, scenario, logs }) {
    const pending = history.filter(({ status }) => status === 'pending');
    const unrecorded = logs.filter((line) => line.includes('delivered but not recorded')).join('\n');
    return plannedAlerts(scenario)
      .filter(({ event, notification }) =>
        pending.some(
          (entry) => entry.notification === notification.index && entry.event_id.includes(`:ch${event.number}:`),
        ),
      )
      .filter(({ event }) => !unrecorded.includes(`:ch${event.number}:`))
      .map((alert) => `${nameOf(alert)} is pending for ever.`);
  },
};
