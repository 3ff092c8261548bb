import type { HistoryEntry, Observations } from '../world/observations.ts';
import type { DeadLetter } from '../world/operators.ts';
import { recipientsOf } from '../world/receivers.ts';
import type { PlannedTenant } from '../world/scenario.ts';
import { createOutcomes, isAboveDailyLimit } from './alert-outcomes.ts';
import { mayBeStopped } from './email-stops.ts';
import {
  deletedAtMs,
  nameOf,
  type PlannedAlert,
  type PlannedDelivery,
  plannedAlerts,
  unalteredDeliveries,
} from './planned-alerts.ts';
import {
  areFunctionsCalm,
  arrivalsOf,
  entriesOf,
  hasOneRound,
  MAX_ATTEMPTS,
  MAX_RUN_MS,
  refusalsOf,
  requestsOf,
  sendersOf,
  typesOf,
} from './requests.ts';
import type { Rule } from './rule.ts';
import { isStopped } from './stops-hold.ts';

const isRejected = (alert: PlannedAlert, observations: Observations): boolean =>
  refusalsOf(observations, alert).some(({ behavior }) => behavior === 'reject');

/**
 * Returns whether each recipient of an alert got it, rejected it, or was tried often enough: the others are retried, even
 * if one rejects it. An attempt to send to a private address reaches nobody.
 */
const mayHaveFailed = (alert: PlannedAlert, observations: Observations): boolean =>
  observations.scenario.privateWebhooks.includes(alert.notification.index) ||
  recipientsOf(alert.notification, alert.tenant).every((to) => {
    const requests = requestsOf(observations, { ...alert, to }).filter(({ atMs }) => atMs < observations.redeliveredMs);
    return (
      requests.length >= MAX_ATTEMPTS ||
      requests.some(({ isAccepted }) => isAccepted) ||
      // Of several contacts, those that are stopped are skipped.
      mayBeStopped(observations, to, alert.event.atMs, observations.redeliveredMs) ||
      isRejected({ ...alert, to }, observations)
    );
  });

/** Returns whether a summary waited for days, because only a few messages per day are permitted. */
const isExpiredAboveLimit = ({ reason, attempts }: HistoryEntry, { limits }: PlannedTenant): boolean =>
  reason === 'expired' && attempts.length === 0 && Object.keys(limits).length > 0;

/**
 * A delivery fails only because its destination rejected it, because the account has no contacts, or after its last
 * attempt. So do summaries.
 */
export const failuresAreJustified: Rule = {
  name: 'failures are justified',
  violations(observations) {
    const { earlierHistory, scenario, refusals } = observations;
    const failed = earlierHistory.filter(
      (entry) =>
        entry.status === 'failed' &&
        entry.reason !== 'no_contacts' &&
        // They have rules of their own.
        !isStopped(entry) &&
        !isAboveDailyLimit(entry),
    );
    const alerts = plannedAlerts(scenario)
      // Another event with its ID may have arrived first, and names no number.
      .filter(({ event }) => event.alteredAfterMs === undefined)
      .filter((alert) => entriesOf(failed, alert).length > 0)
      .filter((alert) => !mayHaveFailed(alert, observations))
      .map((alert) => `${nameOf(alert)} failed, although its destination did not reject it.`);
    const summaries = scenario.tenants.flatMap((tenant) =>
      tenant.notifications
        .filter(({ index }) =>
          failed.some(
            (entry) =>
              entry.notification === index &&
              entry.event_id.endsWith(':summary') &&
              !isExpiredAboveLimit(entry, tenant),
          ),
        )
        .filter((notification) =>
          recipientsOf(notification, tenant).every(
            (to) =>
              !refusals.some(
                (refusal) => refusal.to === to && refusal.kind === 'summary' && refusal.behavior === 'reject',
              ),
          ),
        )
        .map(({ key }) => `A summary of ${key} failed, although its destination did not reject it.`),
    );
    return [...alerts, ...summaries];
  },
};

/**
 * An alert that its destination rejected is in a dead-letter queue, and whatever had failed at the end of the run could be
 * redelivered. With several recipients, another one decides.
 */
export const failuresAreDeadLettered: Rule = {
  name: 'failures are dead-lettered',
  violations(observations) {
    const { entryOf } = createOutcomes(observations);
    const { arrivals, scenario, deadLetters, ids, notRedelivered, people, redrives } = observations;
    const isLetterOf = ({ event, notification }: PlannedAlert, { body }: DeadLetter): boolean =>
      body.includes(`#${event.number}#`) && body.includes(`"notification_id":"${ids.get(notification.index)}"`);
    const isDeadLettered = (alert: PlannedAlert): boolean =>
      typesOf(alert.notification.type)
        .flatMap((type) => deadLetters.get(`Delivery-${type}-DeadLetters`) ?? [])
        .some((letter) => isLetterOf(alert, letter));
    /** Whether its sender could not dead-letter it, so that the message was received again and its alert accepted. */
    const isSentAgain = (alert: PlannedAlert): boolean => {
      const { notification } = alert;
      const refusedMs = refusalsOf(observations, alert).find(({ behavior }) => behavior === 'reject')?.atMs ?? 0;
      const sentMs = arrivalsOf(observations, alert).find(({ atMs }) => atMs > refusedMs)?.atMs;
      const isAskedFor = (startedMs: number): boolean => refusedMs < startedMs && startedMs < (sentMs ?? 0);
      if (sentMs === undefined) return false;
      // It may have been asked for in vain, if its sender could not dead-letter it before.
      const isCalm = areFunctionsCalm(observations, sendersOf(notification.type), refusedMs, refusedMs + MAX_RUN_MS);
      const isRedriven = redrives.some(
        ({ startedMs, letters }) =>
          isAskedFor(startedMs) && [...letters.values()].flat().some((letter) => isLetterOf(alert, letter)),
      );
      const isRedelivered = people.some(
        ({ action, startedMs }) =>
          action.kind === 'redeliver' && action.notification === notification.index && isAskedFor(startedMs),
      );
      return !isRedriven && !(isRedelivered && isCalm);
    };
    const rejected = plannedAlerts(scenario)
      .filter((alert) => !isSentAgain(alert))
      // If its sender could not dead-letter it, it is cancelled once its notification is deleted.
      .filter(({ notification }) => deletedAtMs(observations, notification.index) === undefined)
      // If its sender could not dead-letter it, it may be above a limit, or superseded, when its message is received again.
      .filter((alert) => !['summarized', 'superseded'].includes(entryOf(alert)?.status ?? ''))
      // The feed has the entry of an earlier request, whose response was lost.
      .filter(
        (alert) =>
          alert.notification.type !== 'atomfeed' ||
          entryOf(alert)?.status !== 'delivered' ||
          arrivals.every(
            ({ to, numbers, isAnswered }) => to !== alert.to || isAnswered || !numbers.includes(alert.event.number),
          ),
      )
      .filter(({ notification }) => notification.type !== 'technicalContactsEmail')
      .filter((alert) => isRejected(alert, observations))
      .filter((alert) => !isDeadLettered(alert));
    return [
      ...rejected.map((alert) => `${nameOf(alert)} was rejected and is in no dead-letter queue.`),
      ...notRedelivered.map((text) => `Failed deliveries could not be redelivered: ${text}.`),
    ];
  },
};

/** An attempt that an outage delays by an hour starts another round. */
const MAX_WAIT_MS = 3_600_000 - MAX_RUN_MS;

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

    return unalteredDeliveries(scenario).flatMap(violationsOf);
  },
};
