import { notificationsOf } from '../world/scenario.ts';
import { createOutcomes } from './alert-outcomes.ts';
import { nameOf, plannedDeliveries } from './planned-alerts.ts';
import type { Rule } from './rule.ts';
import { verificationOf } from './verifications.ts';

/** The clocks of execution environments are up to 2 s off, and a sender runs for at most 30 s. */
const TOLERANCE_MS = 35_000;

/**
 * Nothing but a code arrives at a recipient before its code was entered: its alerts fail with `unverified`, and no alert does
 * later. Codes reach only those recipients. (That these alerts are escalated is a rule of all alerts.)
 */
export const unverifiedRecipientsGetNothing: Rule = {
  name: 'unverified recipients get nothing',
  violations(observations) {
    const { scenario, arrivals, codes, earlierHistory, startMs } = observations;
    const notifications = scenario.tenants.flatMap(notificationsOf);
    const early = arrivals.filter(({ to, atMs }) =>
      notifications.some((each) => each.key === to && atMs < verificationOf(observations, each).startedMs),
    );
    const verifiedTypes = ['email', 'sms'];
    const strayed = codes.filter(
      ({ to }) =>
        !scenario.verifiesRecipients ||
        !notifications.some(({ key, type }) => key === to && verifiedTypes.includes(type)),
    );
    const late = earlierHistory.filter(
      ({ notification, reason, updated_at }) =>
        reason === 'unverified' &&
        notifications.some(
          (each) =>
            each.index === notification &&
            updated_at - startMs > verificationOf(observations, each).endedMs + TOLERANCE_MS,
        ),
    );
    const { entryOf } = createOutcomes(observations);
    const unrefused = plannedDeliveries(scenario)
      .filter(({ notification }) => verificationOf(observations, notification).startedMs === Number.POSITIVE_INFINITY)
      .filter((delivery) => {
        const entry = entryOf(delivery);
        return entry && !(entry.status === 'failed' && entry.reason === 'unverified');
      });
    return [
      ...early.map(({ kind, to, atMs }) => `A message (${kind}) arrived at ${to} after ${atMs} ms, before its code.`),
      ...strayed.map(({ to }) => `A code arrived at ${to}.`),
      ...late.map(({ event_id, notification }) => `${event_id} to d${notification} failed after its verification.`),
      ...unrefused.map((delivery) => `${nameOf(delivery)} did not fail with the reason unverified.`),
    ];
  },
};
