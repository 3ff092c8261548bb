import { nameOf, plannedDeliveries } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** The history says when servers accepted the emails of an alert, and when they were last delayed, and nothing else. */
export const emailsAreConfirmed: Rule = {
  name: 'emails are confirmed',
  violations(observations) {
    const { scenario, history, emailProgress, ids } = observations;
    const alerts = Map.groupBy(
      emailProgress.filter(({ of }) => of === 'alert'),
      ({ notificationId, numbers }) => `${notificationId} ${numbers[0]}`,
    );
    return plannedDeliveries(scenario)
      .filter(({ event }) => event.alteredAfterMs === undefined)
      .flatMap((delivery) => {
        const { event, notification } = delivery;
        const entry = history.find(
          ({ notification: index, event_id }) =>
            index === notification.index && event_id.includes(`:ch${event.number}:`),
        );
        const progress = alerts.get(`${ids.get(notification.index)} ${event.number}`) ?? [];
        const last = (wanted: string): number | undefined =>
          progress
            .filter(({ kind }) => kind === wanted)
            .reduce<number | undefined>((last, { timestampMs }) => Math.max(last ?? 0, timestampMs), undefined);
        if (!entry) return [];
        const [confirmed, delayed] = [last('confirmed'), last('delayed')];
        return entry.confirmed_at === confirmed && entry.delayed_at === delayed
          ? []
          : [
              `${nameOf(delivery)} has confirmed_at ${entry.confirmed_at} and delayed_at ${entry.delayed_at}, not ${confirmed} and ${delayed}.`,
            ];
      });
  },
};
