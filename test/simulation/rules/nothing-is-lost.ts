import { deletedAtMs, eventsOf, nameOf, type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

const isIncidentType = (type: string): boolean => type === 'incidentpager' || type === 'incidentrouter';

/**
 * Every planned alert arrived, is named in a summary that arrived, was superseded by a newer one that arrived, was
 * cancelled with its notification, or failed because its destination rejected it, and is in a dead-letter queue.
 */
export const nothingIsLost: Rule = {
  name: 'no alert is lost',
  violations(observations) {
    const { arrivals, refusals, scenario, deadLetters, history, ids } = observations;
    const events = new Map(eventsOf(scenario).map((event) => [event.number, event]));

    const hasArrived = ({ event, to }: PlannedAlert): boolean =>
      arrivals.some(
        (arrival) => arrival.to === to && arrival.kind === 'alert' && arrival.numbers.includes(event.number),
      );

    const isInSummary = ({ event, to, notification }: PlannedAlert): boolean =>
      arrivals.some(
        (arrival) =>
          arrival.kind === 'summary' &&
          arrival.to === to &&
          arrival.atMs >= event.atMs &&
          (notification.type === 'sms' ||
            arrival.numbers.some((number) => {
              const named = events.get(number);
              return named?.tenant === event.tenant && named.alarm === event.alarm;
            })),
      );

    const isSuperseded = ({ event, to, notification }: PlannedAlert): boolean =>
      isIncidentType(notification.type) &&
      arrivals.some((arrival) => {
        if (arrival.to !== to || arrival.kind !== 'alert') return false;
        return arrival.numbers.some((number) => {
          const newer = events.get(number);
          return newer?.alarm === event.alarm && newer.tenant === event.tenant && newer.timeMs >= event.timeMs;
        });
      });

    const isRejected = ({ event, notification }: PlannedAlert): boolean =>
      refusals.some(
        ({ to, behavior, numbers }) =>
          to === notification.key && behavior === 'reject' && numbers.includes(event.number),
      );

    const letters = new Map([...deadLetters].map(([name, bodies]) => [name, bodies.join('\n')]));
    const isDeadLettered = ({ event, notification }: PlannedAlert): boolean => {
      const letter = [...letters].find(([name]) => name === `Delivery-${notification.type}-DeadLetters`)?.[1] ?? '';
      return letter.includes(`#${event.number}#`) && letter.includes(ids.get(notification.index) ?? '');
    };

    const statusOf = ({ event, notification }: PlannedAlert): string =>
      history
        .filter((entry) => entry.notification === notification.index && entry.event_id.includes(`:ch${event.number}:`))
        .map(({ status, reason }) => `${status} ${reason ?? ''}`)
        .join(', ');

    return plannedAlerts(scenario)
      .filter((alert) => alert.to !== undefined)
      .filter((alert) => deletedAtMs(observations, alert.notification.index) === undefined)
      .filter((alert) => !hasArrived(alert) && !isInSummary(alert) && !isSuperseded(alert))
      .filter((alert) => !(isRejected(alert) && isDeadLettered(alert)))
      .map((alert) => `${nameOf(alert)} is lost: its record is ${statusOf(alert) || 'missing'}.`);
  },
};
