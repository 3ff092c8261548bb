import { eventIdOf } from '../world/alarm-events.ts';
import type { Observations } from '../world/observations.ts';
import type { Arrival } from '../world/receivers.ts';
import { isInOrder, type PlannedEvent } from '../world/scenario.ts';
import { eventsOf, mustBeOlder } from './planned-alerts.ts';
import { faultsWith, mayBeUnrecorded } from './requests.ts';
import type { Rule } from './rule.ts';

/** If an accepted event could not be stored in its lock, its message is received and sent again within this time, without faults. */
const MAX_UNKNOWN_MS = 600_000;

/** A result is written for at most this time after the clock of its sender, which may be 2 s off, was read. */
const MAX_WRITE_MS = 32_000;

/**
 * For this time after a newer event was accepted, older ones wait for its message, even if its worker crashed: five
 * minutes from its claim, the first one if workers crash repeatedly.
 */
const MAX_WAIT_MS = 240_000;

/** A crash before the newer event was accepted may have been at its first claim: its message came back within this time. */
const MAX_EARLIER_CLAIM_MS = 300_000;

/** What sends alerts of incidents. */
const SENDERS = /^send-(incidentpager|incidentrouter|webhook)#/;

/** Returns whether an older event had to wait for the message of an accepted event, which had not come back. */
const mustHaveWaited = (
  accepted: readonly Arrival[],
  later: Arrival,
  crashes: readonly { atMs: number }[],
  { refusals }: Observations,
): boolean => {
  const last = accepted.at(-1);
  if (!last) return false;
  const earlier = crashes.filter(({ atMs }) => atMs < last.atMs && last.atMs - atMs < MAX_EARLIER_CLAIM_MS);
  const claimedMs = Math.min(last.atMs, ...earlier.map(({ atMs }) => atMs));
  const hasComeBack = refusals.some(
    ({ to, numbers, atMs }) =>
      to === last.to && numbers[0] === last.numbers[0] && last.atMs < atMs && atMs < later.atMs,
  );
  return last.isAnswered === true && later.atMs - claimedMs < MAX_WAIT_MS && !hasComeBack;
};

/** Returns whether the record of an accepted event says so long before a time: its lock was advanced before. */
const isRecordedBefore = (
  atMs: number,
  accepted: readonly Arrival[],
  { earlierHistory, startMs, faults, scenario }: Observations,
): boolean =>
  !faults.some(
    (fault) =>
      fault.kind !== 'kill' &&
      fault.operation.startsWith('dynamodb') &&
      fault.atMs <= atMs &&
      accepted.some(
        (arrival) => arrival.by === fault.environmentId && Math.abs(fault.atMs - arrival.atMs) <= MAX_WRITE_MS,
      ),
  ) &&
  earlierHistory.some(
    ({ event_id, notification, status, updated_at }) =>
      status === 'delivered' &&
      updated_at - startMs + MAX_WRITE_MS < atMs &&
      accepted.some(
        ({ to, numbers: [number] }) =>
          event_id.includes(`:ch${number}:`) &&
          scenario.tenants.some(({ notifications }) =>
            notifications.some(({ index, key }) => key === to && index === notification),
          ),
      ),
  );

/** No pager, router or ordered webhook gets an older event of an incident after a newer one that it answered. */
export const incidentsAreOrdered: Rule = {
  name: 'incidents are in order',
  violations(observations) {
    const { arrivals, scenario } = observations;
    /** Whether the service knew at the time of the later arrival that an event was accepted, which arrived before. */
    const isKnown = (newer: PlannedEvent, earlier: readonly Arrival[], later: Arrival): boolean => {
      const answered = earlier.filter(({ isAnswered }) => isAnswered);
      const crashes = faultsWith({ tenant: newer.tenant, eventId: eventIdOf(newer) }, SENDERS, observations);
      const lastMs = Math.max(...[...answered, ...crashes].map(({ atMs }) => atMs).filter((atMs) => atMs < later.atMs));
      const isLastLongAgo = answered.length > 0 && later.atMs - lastMs > MAX_UNKNOWN_MS;
      return (
        isLastLongAgo ||
        mustHaveWaited(earlier, later, crashes, observations) ||
        answered.some((arrival) => !mayBeUnrecorded(arrival, observations)) ||
        isRecordedBefore(later.atMs, answered, observations)
      );
    };
    const events = new Map(eventsOf(scenario).map((event) => [event.number, event]));
    const destinations = scenario.tenants.flatMap(({ notifications }) => notifications).filter(isInOrder);
    return destinations.flatMap(({ key }) => {
      const received = arrivals.filter(({ to, kind }) => to === key && kind === 'alert');
      return received.flatMap((arrival, index) => {
        const event = events.get(arrival.numbers[0] ?? -1);
        const earlier = Map.groupBy(received.slice(0, index), ({ numbers: [number = -1] }) => number);
        const newer = [...earlier].find(([number, others]) => {
          const other = events.get(number);
          return event && other && mustBeOlder(event, other) && isKnown(other, others, arrival);
        });
        return event && newer
          ? [`${key} got #${event.number}# (${event.state} of ${event.timeMs}) after the newer #${newer[0]}#.`]
          : [];
      });
    });
  },
};
