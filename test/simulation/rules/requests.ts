import type { Observations } from '../world/observations.ts';
import type { Behavior } from '../world/scenario.ts';
import type { PlannedAlert } from './planned-alerts.ts';

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
export const requestsOf = ({ arrivals, refusals }: Observations, { event, to }: PlannedAlert): AlertRequest[] =>
  [
    ...arrivals
      .filter((arrival) => arrival.to === to && arrival.kind === 'alert' && arrival.numbers.includes(event.number))
      .map(({ atMs, by, isAnswered }) => ({ atMs, by, isAccepted: true, isAnswered })),
    ...refusals
      .filter((refusal) => refusal.to === to && refusal.kind === 'alert' && refusal.numbers.includes(event.number))
      .map((refusal) => ({ ...refusal, isAccepted: false, isAnswered: false })),
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

/** A time in an execution environment. */
type Moment = { environmentId: string; atMs: number };

/** Returns when the invocation that sent a request started, and before when it ended, ms since the start of the run. */
const invocationOf = ({ by, atMs }: Sent, { invocations }: Observations) => {
  const own = invocations.filter(({ environmentId }) => environmentId === by);
  const startedMs = own.findLast((each) => each.atMs <= atMs)?.atMs ?? atMs;
  const nextMs = own.find((each) => each.atMs > atMs)?.atMs ?? Number.POSITIVE_INFINITY;
  return { startedMs, endedMs: Math.min(nextMs, startedMs + MAX_RUN_MS + 1) };
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

const REPORTERS = /^(watch|report)-deliveries#/;

/** How long the stream, its queue and the functions take without faults, with cold starts and differences of clocks, ms. */
const REPORT_MS = 60_000;

/** After a fault of one of them, a record or message is tried again within this time, ms. */
const RETRY_MS = 300_000;

/** Returns by when what a sender recorded at a time has been reported, by the records as they then are, ms since the start. */
export const reportedByMs = (observations: Observations, recordedMs: number): number => {
  const { faults, kills, scenario } = observations;
  const { pause, maxDelayMs } = scenario.stream;
  const isPaused = pause !== undefined && pause.fromMs <= recordedMs + REPORT_MS && recordedMs < pause.untilMs;
  const byMs = (isPaused ? pause.untilMs : recordedMs) + REPORT_MS + 3 * maxDelayMs;
  const disturbances = [...faults, ...kills].filter(
    ({ environmentId, atMs }) => REPORTERS.test(environmentId) && atMs >= recordedMs && atMs <= byMs,
  );
  return Math.max(byMs, ...disturbances.map(({ atMs }) => atMs + RETRY_MS));
};

/** Returns the types that a notification of a type has in a run: a feed may become a webhook. */
export const typesOf = (type: string): readonly string[] => (type === 'atomfeed' ? ['atomfeed', 'webhook'] : [type]);

/** Returns the execution environments that send alerts of a type, and those that dispatch them. */
export const sendersOf = (type: string): RegExp =>
  new RegExp(`^(send-(${typesOf(type).join('|')})|dispatch-alarm-events)#`);
