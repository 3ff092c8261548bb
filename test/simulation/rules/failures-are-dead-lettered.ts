import type { DeadLetter } from '../world/operators.ts';
import type { Arrival, Refusal } from '../world/receivers.ts';
import { createOutcomes } from './alert-outcomes.ts';
import { deletedAtMs, nameOf, type PlannedAlert, plannedAlerts } from './planned-alerts.ts';
import { areFunctionsCalm, MAX_RUN_MS, sendersOf, typesOf } from './requests.ts';
import type { Rule } from './rule.ts';

/**
 * An alert that its destination rejected is in a dead-letter queue, and whatever had failed at the end of the run could be
 * redelivered. With several recipients, another one decides.
 */
export const failuresAreDeadLettered: Rule = {
  name: 'failures are dead-lettered',
  violations(observations) {
    const { entryOf } = createOutcomes(observations);
    const { arrivals, refusals, scenario, deadLetters, ids, notRedelivered, people, redrives } = observations;
    const isLetterOf = ({ event, notification }: PlannedAlert, { body }: DeadLetter): boolean =>
      body.includes(`#${event.number}#`) && body.includes(`"notification_id":"${ids.get(notification.index)}"`);
    const isDeadLettered = (alert: PlannedAlert): boolean =>
      typesOf(alert.notification.type)
        .flatMap((type) => deadLetters.get(`Delivery-${type}-DeadLetters`) ?? [])
        .some((letter) => isLetterOf(alert, letter));
    /** Whether its sender could not dead-letter it, so that the message was received again and its alert accepted. */
    const isSentAgain = (alert: PlannedAlert): boolean => {
      const { event, to, notification } = alert;
      const isAlert = ({ numbers, ...other }: Arrival | Refusal): boolean =>
        other.to === to && other.kind === 'alert' && numbers.includes(event.number);
      const refusedMs = refusals.find((refusal) => isAlert(refusal) && refusal.behavior === 'reject')?.atMs ?? 0;
      const sentMs = arrivals.find((arrival) => isAlert(arrival) && arrival.atMs > refusedMs)?.atMs;
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
      .filter(({ event, to }) =>
        refusals.some(
          (refusal) =>
            refusal.to === to &&
            refusal.kind === 'alert' &&
            refusal.behavior === 'reject' &&
            refusal.numbers.includes(event.number),
        ),
      )
      .filter((alert) => !isDeadLettered(alert));
    return [
      ...rejected.map((alert) => `${nameOf(alert)} was rejected and is in no dead-letter queue.`),
      ...notRedelivered.map((text) => `Failed deliveries could not be redelivered: ${text}.`),
    ];
  },
};
