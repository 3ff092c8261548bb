import { eventIdOf } from '../world/alarm-events.ts';
import type { HistoryEntry, Observations } from '../world/observations.ts';
import { type Arrival, recipientsOf as addressesOf } from '../world/receivers.ts';
import { isSentByAws, type PlannedEvent, type PlannedTenant } from '../world/scenario.ts';
import { createOutcomes, isOnlyOfType, type Outcomes } from './alert-outcomes.ts';
import { isUnrecorded } from './duplicates-are-explained.ts';
import { tooManyNotices } from './failures-are-noticed.ts';
import {
  contactsOf,
  mayBeShadowed,
  mustGetNotice,
  type Notice,
  type NoticeTime,
  noticeByMs,
  noticesOf,
} from './notices.ts';
import {
  deletedAtMs,
  eventsOf,
  isInShadow,
  mayBeMuted,
  mayBeOlder,
  mustBeMuted,
  nameOf,
  type PlannedDelivery,
  plannedDeliveries,
} from './planned-alerts.ts';
import { hasOneRound, lateFromMs, reportedByMs } from './requests.ts';
import type { Rule } from './rule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Differences between the clocks, and the time in which an attempt may still end before the others are read. */
const TOLERANCE_MS = 60_000;

/** An alert that has reached nobody for this time, in ms, is escalated, whoever is at fault. */
const MAX_UNREACHED_MS = 300_000;

/** Before this time after its event, ms, no alert counts as failing. */
const MIN_FAILING_MS = 240_000;

/** The maximum number of escalations of an account in a UTC day, for OK and for other states. */
const MAX_PER_DAY = 20;

const startOfHour = (atMs: number): number => atMs - (atMs % HOUR_MS);

/**
 * Returns when the summary of an alert failed or was cancelled, ms since the start, or undefined. Only the newest alert of
 * an alarm and state in a cancelled one is escalated.
 */
const summaryEndedMs = (
  { notification, event }: PlannedDelivery,
  { summary_id }: HistoryEntry,
  { earlierHistory, scenario, startMs }: Observations,
): number | undefined => {
  const own = earlierHistory.filter((entry) => entry.notification === notification.index);
  const summary = own.find((entry) => entry.event_id === summary_id);
  const isNewer = (other: PlannedEvent): boolean =>
    other.number !== event.number &&
    other.alarm === event.alarm &&
    other.state === event.state &&
    other.timeMs >= event.timeMs &&
    own.some((entry) => entry.summary_id === summary_id && entry.event_id.includes(`:ch${other.number}:`));
  const isOver = summary?.status === 'failed' || (summary?.status === 'cancelled' && !eventsOf(scenario).some(isNewer));
  return isOver ? summary.updated_at - startMs : undefined;
};

const hasFailed = (summaryId: string | null | undefined, { earlierHistory }: Observations): boolean =>
  earlierHistory.some(({ event_id, status }) => event_id === summaryId && status === 'failed');

/** A round that the service did not process for this time starts again. */
const MAX_PAUSE_MS = HOUR_MS;

/**
 * Returns when AWS refused an alert more than five minutes after it had first refused it, ms since the start, or
 * undefined. The history does not show attempts that were throttled.
 */
const refusedLateMs = ({ notification, tenant, event }: PlannedDelivery, { refusals }: Observations) => {
  const recipients = addressesOf(notification, tenant);
  const times = refusals
    .filter(({ to, kind, numbers }) => kind === 'alert' && recipients.includes(to) && numbers.includes(event.number))
    .map(({ atMs }) => atMs);
  const isPaused = times.some((atMs, index) => atMs - (times[index - 1] ?? atMs) > MAX_PAUSE_MS);
  const [firstMs = 0] = times;
  return isSentByAws(notification.type) && !isPaused
    ? times.find((atMs) => atMs - firstMs > MAX_UNREACHED_MS)
    : undefined;
};

/**
 * Returns when an alert that a destination rejected had ended for minutes only because its dead letter could not be sent,
 * ms since the start, or undefined.
 */
const rejectedLateMs = (
  { notification }: PlannedDelivery,
  { attempts }: HistoryEntry,
  { faults, kills, startMs }: Observations,
): number | undefined => {
  const [first] = attempts;
  if (first?.result !== 'permanent') return undefined;
  const rejectedMs = first.timestamp - startMs;
  const lateMs = rejectedMs + MAX_UNREACHED_MS;
  const isOther = ({ environmentId, atMs, operation }: { environmentId: string; atMs: number; operation?: string }) =>
    environmentId.startsWith(`send-${notification.type}#`) &&
    operation !== 'sqs.SendMessage' &&
    rejectedMs <= atMs + TOLERANCE_MS &&
    atMs <= lateMs;
  return [...faults, ...kills].some(isOther) ? undefined : lateMs;
};

/** Returns whether a newer event of the alarm was delivered to a notification. */
const isSupersededByDelivered = (delivery: PlannedDelivery, outcomes: Outcomes, { scenario }: Observations): boolean =>
  eventsOf(scenario).some(
    (newer) =>
      mayBeOlder(delivery.event, newer) &&
      newer.notifications.includes(delivery.notification.index) &&
      outcomes.arrivedAtMs({ ...delivery, event: newer }) < Number.POSITIVE_INFINITY,
  );

/** Returns from when on an alert counts as not reached, ms since the start, or undefined if that is not certain. */
const unreachedFromMs = (
  delivery: PlannedDelivery,
  { entryOf }: Outcomes,
  observations: Observations,
): number | undefined => {
  const { notification, event } = delivery;
  const { startMs } = observations;
  const entry = entryOf(delivery);
  if (!entry) return deletedAtMs(observations, notification.index) === undefined ? undefined : event.atMs;
  if (entry.status === 'summarized') return summaryEndedMs(delivery, entry, observations);
  const isOver = ['failed', 'bounced', 'cancelled'].includes(entry.status) && entry.reason !== 'shadow';
  const endedAtMs = isOver ? entry.updated_at - startMs : undefined;
  const isFirstRound = hasOneRound(observations, entry);
  const lateAtMs = isFirstRound ? lateFromMs(entry) : undefined;
  const refusedAtMs = isFirstRound ? refusedLateMs(delivery, observations) : undefined;
  const rejectedAtMs = isFirstRound ? rejectedLateMs(delivery, entry, observations) : undefined;
  const times = [endedAtMs, lateAtMs === undefined ? undefined : lateAtMs - startMs, refusedAtMs, rejectedAtMs];
  return times.filter((time) => time !== undefined).toSorted((left, right) => left - right)[0];
};

/**
 * Returns from when on an alert may count as failing, ms since the start: from the attempt whose retry is due later than
 * `MIN_FAILING_MS` after the event.
 */
const mayFailFromMs = (
  { attempts, updated_at }: HistoryEntry,
  { atMs }: PlannedEvent,
  { startMs }: Observations,
): number => {
  const index = attempts.findIndex((_, position) => {
    const { timestamp: nextMs = Number.POSITIVE_INFINITY } = attempts[position + 1] ?? {};
    return nextMs - startMs - atMs > MIN_FAILING_MS;
  });
  return (attempts[index]?.timestamp ?? updated_at) - startMs;
};

/** Returns whether SES or SNS may have been at fault: a recipient that they reject ends a delivery at once. */
const mayBeOfService = (
  { notification, event }: PlannedDelivery,
  entry: HistoryEntry | undefined,
  { startMs }: Observations,
): boolean =>
  isSentByAws(notification.type) &&
  entry !== undefined &&
  (entry.attempts.some(({ result }) => result === 'transient') ||
    entry.updated_at - startMs - event.atMs > MIN_FAILING_MS - TOLERANCE_MS);

/** Returns the recipients of the escalation of an event. The operators have an alarm if the service is at fault. */
const recipientsOf = (
  tenant: PlannedTenant,
  { state }: PlannedEvent,
  isOfService: boolean,
  time: NoticeTime,
  observations: Observations,
): string[] => {
  const { fallback, name } = tenant;
  const { scenario, people } = observations;
  const { escalations = 'contacts+managed' } = scenario;
  if (escalations === 'off') return [];
  // What people change after the notice does not matter. An escalation has the time of the first alert of the hour.
  const byMs = fallback ? noticeByMs(tenant, fallback.key, time.atMs, observations) : 0;
  const mayBeChanged = people.some(
    ({ action, startedMs }) =>
      startedMs <= byMs &&
      ((action.kind === 'fallback' && action.tenant === name) ||
        (action.kind === 'mute' && action.notification === fallback?.index)),
  );
  return [
    ...contactsOf(tenant, time, observations),
    ...(isOfService || escalations === 'contacts' ? [] : [`tenant ${name}`]),
    // A pager that got an escalation of a newer event of the alarm gets no older one.
    ...(fallback &&
    !mayBeChanged &&
    !mayBeShadowed(tenant, time, observations) &&
    mustGetNotice({ to: fallback.key, phases: fallback.phases }, time, observations) &&
    state !== 'OK' &&
    fallback.type !== 'incidentpager'
      ? [fallback.key]
      : []),
  ];
};

/** An event that reached nobody is escalated to the contacts, the operators and the fallback notification. */
const unreachedEventsAreEscalated: Rule = {
  name: 'unreached events are escalated',
  violations(observations) {
    const { scenario, startMs } = observations;
    const outcomes = createOutcomes(observations);
    const notices = noticesOf(observations);
    const deliveries = Map.groupBy(plannedDeliveries(scenario), ({ event }) => event);
    return eventsOf(scenario).flatMap((event) => {
      const ofEvent = deliveries.get(event) ?? [];
      const tenant = scenario.tenants.find(({ name }) => name === event.tenant);
      const times = ofEvent.map((delivery) => unreachedFromMs(delivery, outcomes, observations));
      // A sender that was killed may have recorded that the alert reached a recipient.
      const firstReachedMs = Math.min(...ofEvent.map(outcomes.arrivedAtMs));
      const atMs = Math.max(event.atMs, ...times.map((time) => time ?? Number.POSITIVE_INFINITY));
      const areMuted = ofEvent.every((delivery) => mayBeMuted(delivery, observations));
      if (areMuted || isInShadow(event, observations)) return [];
      const byMs = reportedByMs(observations, { tenant: event.tenant, eventId: eventIdOf(event) }, atMs);
      if (!tenant || !(byMs < firstReachedMs)) return [];
      const entries = ofEvent.flatMap((delivery) => outcomes.entryOf(delivery) ?? []);
      // The newer event was delivered before anybody learned that this one was late.
      const isSuperseded = ofEvent.some((delivery) => {
        const { status, updated_at = 0 } = outcomes.entryOf(delivery) ?? {};
        const isInTime = status === 'superseded' && updated_at - startMs <= byMs;
        return isInTime && isSupersededByDelivered(delivery, outcomes, observations);
      });
      if (isSuperseded) return [];
      // Deleting a notification does not escalate the alerts of its summary that have failed nowhere else.
      const isSummarized = entries.some(
        ({ status, summary_id }) => status === 'summarized' && !hasFailed(summary_id, observations),
      );
      if (isSummarized && !entries.some(({ status }) => status === 'failed')) return [];
      // If its summary fails last, that is escalated instead.
      const othersFailedMs = Math.max(
        event.atMs,
        ...entries
          .filter(({ status }) => status !== 'summarized')
          .map((entry) => mayFailFromMs(entry, event, observations)),
      );
      const isSummaryLast = ofEvent.some((delivery, index) => {
        const { status, summary_id } = outcomes.entryOf(delivery) ?? {};
        const isLast = (times[index] ?? 0) + TOLERANCE_MS > othersFailedMs;
        return status === 'summarized' && hasFailed(summary_id, observations) && isLast;
      });
      if (isSummaryLast) return [];
      // With a long Retry-After, an alert counts as failing after its first attempt.
      const firstFailedMs = Math.max(
        event.atMs,
        ...ofEvent.map((delivery, index) => {
          const [first] = outcomes.entryOf(delivery)?.attempts ?? [];
          return first ? first.timestamp - startMs : (times[index] ?? 0);
        }),
      );
      // Without a record, or after a bounce, it is not certain when it was found that nobody was reached.
      const isTimed =
        entries.length === ofEvent.length &&
        ofEvent.every((each) => outcomes.arrivalsOf(each).every((arrival) => arrival.atMs > byMs));
      // That of an earlier event in the same hour may be retried: its own deadline is that event's.
      const isOfEarlier = ({ numbers }: Arrival): boolean =>
        eventsOf(scenario).some((other) => numbers.includes(other.number) && other.atMs < event.atMs);
      const isEscalated = (to: string): boolean =>
        notices.some(
          ({ kind, state, alarm, arrival }) =>
            arrival.to === to &&
            (!isTimed || isOfEarlier(arrival) || arrival.atMs <= noticeByMs(tenant, to, atMs, observations)) &&
            startMs + arrival.atMs >= startOfHour(startMs + firstFailedMs - TOLERANCE_MS) &&
            state === event.state &&
            ((kind === 'unreached' && alarm === event.alarm) || kind === 'unreached-summary'),
        );
      const isOfService = ofEvent.some((delivery) =>
        mayBeOfService(delivery, outcomes.entryOf(delivery), observations),
      );
      const time = { fromMs: startOfHour(startMs + firstFailedMs - TOLERANCE_MS) - startMs, atMs };
      return recipientsOf(tenant, event, isOfService, time, observations)
        .filter((to) => !isEscalated(to))
        .map(
          (to) =>
            `${ofEvent.slice(0, 3).map(nameOf).join(', ')} and ${ofEvent.length} in all reached nobody, but ${to} got no escalation in time.`,
        );
    });
  },
};

/** The operators learn of each summary that failed. */
const failedSummariesAreEscalated: Rule = {
  name: 'failed summaries are escalated',
  violations(observations) {
    const { scenario, earlierHistory } = observations;
    const notices = noticesOf(observations);
    if ((scenario.escalations ?? 'contacts+managed') !== 'contacts+managed') return [];
    return scenario.tenants.flatMap((tenant) => {
      const { name } = tenant;
      // Of several contacts, one may have got it.
      const notifications = tenant.notifications.filter(
        (notification) => addressesOf(notification, tenant).length === 1,
      );
      return earlierHistory
        .filter(({ notification }) => notifications.some(({ index }) => index === notification))
        .filter(({ event_id, status }) => event_id.endsWith(':summary') && status === 'failed')
        .filter(
          ({ event_id }) =>
            !notices.some(
              ({ kind, arrival }) =>
                arrival.to === `tenant ${name}` &&
                ((kind === 'unreached' && arrival.text.includes(event_id)) || kind === 'unreached-summary'),
            ),
        )
        .map(({ event_id }) => `The summary ${event_id} failed, and the operators got no escalation.`);
    });
  },
};

/** No event that reached somebody is escalated, and no recipient gets more escalations than documented. */
const escalationsAreJustified: Rule = {
  name: 'escalations are justified',
  violations(observations) {
    const { scenario, startMs } = observations;
    const { entryOf, reachedAtMs } = createOutcomes(observations);
    const planned = plannedDeliveries(scenario);
    const alerts = planned
      .filter((alert) => isOnlyOfType(alert) || entryOf(alert)?.status === 'delivered')
      // An escalation may arrive after a redelivery of the alert.
      .filter((alert) => {
        const entry = entryOf(alert);
        return entry === undefined || hasOneRound(observations, entry);
      });
    const escalations = noticesOf(observations).filter(({ kind }) => kind === 'unreached');

    /** Whether the escalation is sent again, because its sender could not record that it had arrived. */
    const isSentAgain = ({ arrival, alarm, state }: Notice): boolean =>
      escalations.some(
        (other) =>
          other.arrival.to === arrival.to &&
          other.alarm === alarm &&
          other.state === state &&
          other.arrival.numbers[0] === arrival.numbers[0] &&
          other.arrival.atMs < arrival.atMs &&
          isUnrecorded(other.arrival, observations),
      );
    const unjustified = escalations.flatMap((escalation) => {
      const { arrival, alarm } = escalation;
      if (alarm === 'summary' || isSentAgain(escalation)) return [];
      const ofEvent = planned.filter(({ event }) => arrival.numbers.includes(event.number));
      const [first] = ofEvent;
      if (first && ofEvent.every((each) => mustBeMuted(each, observations)))
        return [`${arrival.to} got an escalation of ${nameOf(first)}, although all were muted.`];
      const reached = alerts.find(
        (alert) =>
          arrival.numbers.includes(alert.event.number) &&
          reachedAtMs(alert) < Math.min(arrival.atMs, alert.event.atMs + MIN_FAILING_MS),
      );
      return reached ? [`${arrival.to} got an escalation, but ${nameOf(reached)} had arrived.`] : [];
    });

    const repeated = tooManyNotices(
      escalations.filter(({ alarm }) => alarm !== 'summary'),
      HOUR_MS,
      1,
      ({ alarm, state }) => `unreached ${alarm} ${state}`,
      observations,
    );

    // Once when the last destination is late or has failed, and again when a late one has failed for good, or bounced.
    const again = plannedDeliveries(scenario).flatMap((delivery) => {
      const { event } = delivery;
      const ends = plannedDeliveries(scenario)
        .filter((other) => other.event.number === event.number)
        .map((other) => entryOf(other));
      const isOnce = ends.every((entry) => entry && hasOneRound(observations, entry) && entry.status !== 'summarized');
      const max = 1 + ends.filter((entry) => entry?.status !== 'delivered').length;
      const own = escalations.filter(
        ({ arrival, alarm, tenant }) =>
          alarm === event.alarm && tenant.name === event.tenant && arrival.numbers.includes(event.number),
      );
      return [...Map.groupBy(own, ({ arrival }) => arrival.to)].flatMap(([to, group]) => {
        const recorded = group.filter(({ arrival }) => !isUnrecorded(arrival, observations)).length;
        return isOnce && recorded > max ? [`${to}: ${recorded} escalations of ${nameOf(delivery)}, not ${max}.`] : [];
      });
    });

    const tooMany = [
      ...Map.groupBy(escalations, ({ arrival, state }) => {
        const day = Math.floor((startMs + arrival.atMs) / DAY_MS);
        return `${arrival.to} day ${day} ${state === 'OK' ? 'OK' : 'others'}`;
      }),
    ].flatMap(([name, group]) => {
      const recorded = group.filter(({ arrival }) => !isUnrecorded(arrival, observations));
      return recorded.length > MAX_PER_DAY ? [`${name}: ${recorded.length} escalations.`] : [];
    });

    return [...unjustified, ...repeated, ...again, ...tooMany];
  },
};

export const escalationRules: readonly Rule[] = [
  unreachedEventsAreEscalated,
  failedSummariesAreEscalated,
  escalationsAreJustified,
];
