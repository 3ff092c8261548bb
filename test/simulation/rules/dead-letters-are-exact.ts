import type { Observations } from '../world/observations.ts';
import type { DeadLetter } from '../world/operators.ts';
import { createOutcomes } from './alert-outcomes.ts';
import { nameOf, type PlannedDelivery, plannedDeliveries } from './planned-alerts.ts';
import { areFunctionsCalm, hasOneRound, MAX_RUN_MS, sendersOf, typesOf } from './requests.ts';
import type { Rule } from './rule.ts';

/** An attempt that an outage delays by an hour starts another round. */
const MAX_WAIT_MS = 3_600_000 - MAX_RUN_MS;

/** A dead letter of an alert. */
type AlertLetter = { notificationId: string; eventId: string; round: number; reason: string | undefined };

/** Returns what the first line of a body says. */
const alertLetterOf = ({ body, reason }: DeadLetter): AlertLetter[] => {
  const end = body.indexOf('\n');
  if (end < 0) return [];
  const envelope: { notification_id: string; round?: number; event: { event_id: string } } = JSON.parse(
    `${body.slice(0, end - 1)}}`,
  );
  const { notification_id: notificationId, round = 1, event } = envelope;
  return [{ notificationId, eventId: event.event_id, round, reason }];
};

/** The dead letters of each type's alerts. */
const lettersOf = ({ deadLetters }: Observations): ReadonlyMap<string, readonly AlertLetter[]> =>
  new Map(
    [...deadLetters].flatMap(([name, letters]) => {
      const [, type] = /^Delivery-(\w+)-DeadLetters$/.exec(name) ?? [];
      return type === undefined || type === 'AlarmEvents' ? [] : [[type, letters.flatMap(alertLetterOf)] as const];
    }),
  );

/**
 * Each round that failed for good has one dead letter, with the number of the next round, the first of which is the
 * second, and with the reason that the history shows. A sender that was disturbed may send it again.
 */
export const deadLettersAreExact: Rule = {
  name: 'dead letters are exact',
  violations(observations) {
    const { ids, redrives, startMs, endedMs, scenario } = observations;
    const { entryOf } = createOutcomes(observations);
    const letters = lettersOf(observations);

    const violationsOf = (delivery: PlannedDelivery): string[] => {
      const { event, notification } = delivery;
      const id = ids.get(notification.index);
      const own = typesOf(notification.type)
        .flatMap((type) => letters.get(type) ?? [])
        .filter(({ notificationId, eventId }) => notificationId === id && eventId.includes(`:ch${event.number}:`));
      const rounds = own.map(({ round }) => round);
      const distinct = [...new Set(rounds)].toSorted((left, right) => left - right);
      const name = nameOf(delivery);
      const entry = entryOf(delivery);
      const sentUntilMs = entry ? entry.updated_at - startMs + MAX_RUN_MS : endedMs;
      const isCalm = areFunctionsCalm(observations, sendersOf(notification.type), event.atMs, sentUntilMs);
      const isRepeated = rounds.length > distinct.length && redrives.length === 0 && isCalm;
      const hasGap = distinct.some((round, index) => round !== index + 2);
      const isFailedOnce = entry?.status === 'failed' && hasOneRound(observations, entry);
      const reasons = own.filter(({ round }) => round === 2).map(({ reason }) => reason);
      return [
        ...(isRepeated ? [`${name} has dead letters of the rounds ${rounds.join(', ')}.`] : []),
        // A delivery whose attempts waited for long starts a new round without a dead letter.
        ...(hasGap && scenario.outages.every(({ fromMs, untilMs }) => untilMs - fromMs < MAX_WAIT_MS)
          ? [`${name} has dead letters of the rounds ${distinct.join(', ')}.`]
          : []),
        ...(isFailedOnce && !reasons.includes(entry.reason ?? '')
          ? [`${name} failed for ${entry.reason}, but its dead letters say ${reasons.join(', ') || 'nothing'}.`]
          : []),
      ];
    };

    return plannedDeliveries(scenario)
      .filter(({ event }) => event.alteredAfterMs === undefined)
      .flatMap(violationsOf);
  },
};
