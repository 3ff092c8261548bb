import type { Observations, PublishedOutcome } from '../world/observations.ts';
import { isSentByAws } from '../world/scenario.ts';
import { createOutcomes } from './alert-outcomes.ts';
import { nameOf, type PlannedDelivery, plannedDeliveries } from './planned-alerts.ts';
import { entriesOf, hasOneRound, invocationsWith, lateFromMs } from './requests.ts';
import type { Rule } from './rule.ts';

/** The status of a delivery that is retried, and has not arrived for minutes. */
const FAILING = 'failing';

/** How the rates of a run make a stream record unreadable. */
const UNREADABLE = '"round":{"S":"?"}';

/** Whether an outcome is about a delivery. */
const isOf = ({ event, notification }: PlannedDelivery, outcome: PublishedOutcome, { ids }: Observations): boolean =>
  outcome.notification_id === ids.get(notification.index) && outcome.event_id.includes(`:ch${event.number}:`);

/**
 * The topic of delivery outcomes gets how each delivery ended, and that it failed for minutes, at least once, and nothing that is not true, of another
 * tenant, or about notices.
 */
export const outcomesArePublished: Rule = {
  name: 'outcomes are published',
  violations(observations) {
    const { scenario, history, earlierHistory, outcomes, arrivals, reportsGivenUp, logs } = observations;
    const { arrivalsOf, entryOf } = createOutcomes(observations);
    if (!scenario.hasOutcomes) return [];
    const deliveries = plannedDeliveries(scenario);

    /** Whether what the history says was published, unless Lambda gave up. */
    const missing = deliveries.flatMap((delivery) =>
      [...entriesOf(earlierHistory, delivery), ...entriesOf(history, delivery)]
        .filter(
          ({ status, reason }) =>
            status !== 'pending' &&
            !outcomes.some(
              (outcome) =>
                isOf(delivery, outcome, observations) &&
                outcome.status === status &&
                outcome.reason === (reason ?? null),
            ),
        )
        .map(({ status }) => `${nameOf(delivery)} is ${status}, and no outcome says so.`),
    );

    /** Alerts that count as failing for sure, by the cause of their destination, which the watcher could read. */
    const missingFailing = deliveries.flatMap((delivery) => {
      const { event, notification } = delivery;
      const entry = entryOf(delivery);
      if (!entry || isSentByAws(notification.type) || lateFromMs(entry) === undefined) return [];
      if (!hasOneRound(observations, entry) || event.alteredAfterMs !== undefined) return [];
      const isPublished = outcomes.some(
        (outcome) => outcome.status === FAILING && isOf(delivery, outcome, observations),
      );
      const key = { tenant: event.tenant, eventId: entry.event_id };
      const isUnread = invocationsWith(key, /^watch-/, observations).some(({ text }) => text.includes(UNREADABLE));
      return isPublished || isUnread ? [] : [`${nameOf(delivery)} was failing, and no outcome says so.`];
    });

    /** Of two events with one ID, the first that is claimed arrives. */
    const hasAlteredArrived = ({ event, notification }: PlannedDelivery): boolean =>
      event.alteredAfterMs !== undefined &&
      arrivals.some(({ to, text }) => to === notification.key && text?.includes(`:ch${event.number}:`));

    const problemOf = (outcome: PublishedOutcome): string | undefined => {
      const delivery = deliveries.find((each) => isOf(each, outcome, observations));
      if (!delivery) return 'it is about no planned delivery';
      const { tenant_id: tenant, type, status, attributes, ended_at } = outcome;
      if (tenant !== delivery.tenant.name) return 'it names another tenant';
      if (attributes.tenant_id !== tenant || attributes.type !== type || attributes.status !== status)
        return 'its attributes differ';
      if ((status === FAILING) !== (ended_at === null)) return 'its end is wrong';
      return status === 'delivered' && arrivalsOf(delivery).length === 0 && !hasAlteredArrived(delivery)
        ? 'nothing arrived'
        : undefined;
    };

    const wrong = outcomes.flatMap((outcome) => {
      const problem = problemOf(outcome);
      return problem === undefined
        ? []
        : [`${outcome.event_id} of ${outcome.notification_id} is published as ${outcome.status}, but ${problem}.`];
    });
    const mayBeUnreadable = scenario.stream.unreadable > 0;
    const unreadable = logs.filter(
      (line) => line.includes('outcome rejected') || (line.includes('stream record invalid') && !mayBeUnreadable),
    );
    return [...(reportsGivenUp > 0 ? [] : [...missing, ...missingFailing]), ...wrong, ...unreadable];
  },
};
