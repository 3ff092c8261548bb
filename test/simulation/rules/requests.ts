import { eventHash } from '../../../shared/domain/delivery-key.ts';
import type { HistoryEntry, Invocation, Observations } from '../world/observations.ts';
import type { Arrival, Refusal } from '../world/receivers.ts';
import type { Behavior } from '../world/scenario.ts';
import type { PlannedAlert, PlannedDelivery } from './planned-alerts.ts';

/** Creates an index of lists, which is built once for each list. */
const indexOf = <Item>(keysOf: (item: Item) => readonly string[]) => {
  const indexes = new WeakMap<readonly Item[], ReadonlyMap<string, Item[]>>();
  return (items: readonly Item[], key: string): readonly Item[] => {
    const index =
      indexes.get(items) ??
      new Map(
        [
          ...Map.groupBy(
            items.flatMap((item) => keysOf(item).map((each) => ({ each, item }))),
            ({ each }) => each,
          ),
        ].map(([each, group]) => [each, group.map(({ item }) => item)]),
      );
    indexes.set(items, index);
    return index.get(key) ?? [];
  };
};

const alertKeys = ({ to, kind, numbers }: Arrival | Refusal): string[] =>
  kind === 'alert' ? [...new Set(numbers)].map((number) => `${to} ${number}`) : [];
const arrivalIndex = indexOf<Arrival>(alertKeys);
const refusalIndex = indexOf<Refusal>(alertKeys);
const entryIndex = indexOf<HistoryEntry>(({ notification, event_id }) => [
  `${notification} ${/:ch(\d+):/.exec(event_id)?.[1]}`,
]);

/** Returns the arrivals of an alert at its recipient, in order. */
export const arrivalsOf = ({ arrivals }: Observations, { event, to }: Pick<PlannedAlert, 'event' | 'to'>) =>
  arrivalIndex(arrivals, `${to} ${event.number}`);

/** Returns the requests with an alert that its recipient refused, in order. */
export const refusalsOf = ({ refusals }: Observations, { event, to }: PlannedAlert): readonly Refusal[] =>
  refusalIndex(refusals, `${to} ${event.number}`);

/** Returns the records of a delivery in a history: one, if any. */
export const entriesOf = (history: readonly HistoryEntry[], { event, notification }: PlannedDelivery) =>
  entryIndex(history, `${notification.index} ${event.number}`);

/** A request with an alert that its destination got. `isAnswered` is true if its sender knows that it was accepted. */
export type AlertRequest = {
  atMs: number;
  /** The execution environment that sent it. */
  by: string;
  isAccepted: boolean;
  isAnswered: boolean;
  behavior?: Behavior;
  retryAfterMs?: number | undefined;
};

/** Returns the requests with an alert to its recipient, in order. */
export const requestsOf = (observations: Observations, alert: PlannedAlert): AlertRequest[] =>
  [
    ...arrivalsOf(observations, alert).map(({ atMs, by, isAnswered }) => ({ atMs, by, isAccepted: true, isAnswered })),
    ...refusalsOf(observations, alert).map((refusal) => ({ ...refusal, isAccepted: false, isAnswered: false })),
  ].sort((left, right) => left.atMs - right.atMs);

/** What was sent, by an execution environment. */
type Sent = Pick<AlertRequest, 'by' | 'atMs'>;

/** A function runs for at most 30 s. */
export const MAX_RUN_MS = 30_000;

/**
 * A sender repeats the write of a result until 13 s are left. After the last fault of DynamoDB, the write that it is
 * making ends within 4 s, and the next one, after at most 1 s more, succeeds.
 */
const LAST_FAULT_MS = MAX_RUN_MS - 13_000 - 6_000;

type Moment = { environmentId: string; atMs: number };

/** Returns before when an invocation had ended, ms since the start of the run. */
const endedMs = ({ environmentId, atMs }: Moment, { invocations }: Observations): number =>
  Math.min(
    invocations.find((each) => each.environmentId === environmentId && each.atMs > atMs)?.atMs ??
      Number.POSITIVE_INFINITY,
    atMs + MAX_RUN_MS + 1,
  );

const isDuring = (invocation: Moment, atMs: number, observations: Observations): boolean =>
  invocation.atMs <= atMs && atMs < endedMs(invocation, observations);

/** Returns when the invocation that sent a request started and ended, ms since the start of the run. */
const invocationOf = ({ by, atMs }: Sent, observations: Observations) => {
  const startedMs =
    observations.invocations.findLast((each) => each.environmentId === by && each.atMs <= atMs)?.atMs ?? atMs;
  return { startedMs, endedMs: endedMs({ environmentId: by, atMs: startedMs }, observations) };
};

/** Returns whether the sender of a request may not have recorded its result. */
export const mayBeUnrecorded = (request: Sent, observations: Observations): boolean => {
  const { kills, faults } = observations;
  const { startedMs, endedMs } = invocationOf(request, observations);
  const isOfSender = ({ environmentId, atMs }: Moment): boolean => environmentId === request.by && atMs < endedMs;
  return (
    // A call that was on its way arrives after its sender was ended.
    kills.some(isOfSender) ||
    faults.some(
      (fault) =>
        isOfSender(fault) &&
        fault.operation.startsWith('dynamodb') &&
        fault.atMs > Math.max(request.atMs, startedMs + LAST_FAULT_MS),
    )
  );
};

/** Returns whether a fault may have prevented that an attempt was recorded, or that it counted. */
export const isDisturbed = (request: Sent, observations: Observations): boolean => {
  const { endedMs } = invocationOf(request, observations);
  return (
    mayBeUnrecorded(request, observations) ||
    observations.faults.some(
      ({ environmentId, operation, atMs }) =>
        environmentId === request.by && !operation.startsWith('dynamodb') && atMs >= request.atMs && atMs < endedMs,
    )
  );
};

/** Returns whether no fault was injected into some functions, and none was killed, in a time, ms since the start. */
export const areFunctionsCalm = (
  { kills, faults }: Observations,
  functions: RegExp,
  fromMs: number,
  untilMs: number,
): boolean => {
  const isInside = ({ environmentId, atMs }: Moment): boolean =>
    functions.test(environmentId) && fromMs <= atMs && atMs <= untilMs;
  return !kills.some(isInside) && !faults.some(isInside);
};

/** Returns the invocations of functions to which something of an event was passed: messages, stream records or reports. */
export const invocationsWith = (
  { tenant, eventId }: { tenant: string; eventId: string },
  functions: RegExp,
  { invocations }: Observations,
): Invocation[] => {
  const hash = eventHash({ tenant_id: tenant, event_id: eventId });
  return invocations.filter(
    ({ environmentId, text }) => functions.test(environmentId) && (text.includes(eventId) || text.includes(hash)),
  );
};

/** Returns the faults and kills of functions in invocations to which something of an event was passed. */
export const faultsWith = (
  event: { tenant: string; eventId: string },
  functions: RegExp,
  observations: Observations,
): (Moment & { operation?: string })[] => {
  const own = invocationsWith(event, functions, observations);
  return [...observations.faults, ...observations.kills].filter(({ environmentId, atMs }) =>
    own.some((each) => each.environmentId === environmentId && isDuring(each, atMs, observations)),
  );
};

/** How long the stream, its queue and the functions take without faults, with cold starts and differences of clocks, ms. */
const REPORT_MS = 60_000;

/** After a fault of one of them, a record or message is tried again within this time, ms. */
const RETRY_MS = 300_000;

/**
 * Returns by when what a sender recorded of an event at a time has been reported, by the records as they then are, ms since
 * the start. A fault of the watcher also delays the records behind it; one of the reporter, the reports of its invocation.
 */
export const reportedByMs = (
  observations: Observations,
  event: { tenant: string; eventId: string },
  recordedMs: number,
): number => {
  const { faults, kills, scenario } = observations;
  const { pause, maxDelayMs } = scenario.stream;
  const isPaused = pause !== undefined && pause.fromMs <= recordedMs + REPORT_MS && recordedMs < pause.untilMs;
  const byMs = (isPaused ? pause.untilMs : recordedMs) + REPORT_MS + 3 * maxDelayMs;
  const disturbances = [
    ...[...faults, ...kills].filter(({ environmentId }) => /^watch-/.test(environmentId)),
    ...faultsWith(event, /^report-/, observations),
  ].filter(({ atMs }) => atMs >= recordedMs && atMs <= byMs);
  return Math.max(byMs, ...disturbances.map(({ atMs }) => atMs + RETRY_MS));
};

/** The number of attempts in the history, and in a round. */
export const MAX_ATTEMPTS = 9;

/** Returns whether an alert has had one round: since its first attempt, nobody asked to send it again. */
export const hasOneRound = (
  { people, redrives, redeliveredMs, ids, startMs }: Observations,
  { notification, event_id, attempts }: Pick<HistoryEntry, 'notification' | 'event_id' | 'attempts'>,
): boolean => {
  const [first] = attempts.length < MAX_ATTEMPTS ? attempts : [];
  const sinceMs = first ? first.timestamp - startMs : 0;
  const isRedriven = redrives.some(({ letters }) =>
    [...letters.values()]
      .flat()
      .some(({ body }) => body.includes(`"${event_id}"`) && body.includes(`"${ids.get(notification)}"`)),
  );
  return (
    !isRedriven &&
    !people.some(
      ({ action, startedMs, endedMs, responses }) =>
        action.kind === 'redeliver' &&
        action.notification === notification &&
        startedMs < redeliveredMs &&
        sinceMs < endedMs &&
        responses.some(({ status, body }) => status >= 500 || (status === 202 && JSON.parse(body).count > 0)),
    )
  );
};

/** After the fourth attempt of a round, none is due within five minutes of its start. */
const FAILING_ATTEMPTS = 4;

/** Returns from when on no attempt of an alert ends within five minutes for sure, ms since the epoch, or undefined. */
export const lateFromMs = ({ attempts }: HistoryEntry): number | undefined => {
  const last = attempts.slice(0, FAILING_ATTEMPTS);
  if (last.length < FAILING_ATTEMPTS || last.some(({ result }) => result === 'delivered' || result === 'permanent'))
    return undefined;
  const { timestamp = 0, duration_ms = 0 } = last.at(-1) ?? {};
  return timestamp + duration_ms;
};

/** Returns the types that a notification of a type has in a run: a feed may become a webhook. */
export const typesOf = (type: string): readonly string[] => (type === 'atomfeed' ? ['atomfeed', 'webhook'] : [type]);

/** Returns the execution environments that send alerts of a type, and those that dispatch them. */
export const sendersOf = (type: string): RegExp =>
  new RegExp(`^(send-(${typesOf(type).join('|')})|dispatch-alarm-events)#`);
