import type { FailureCause, FailureReason, MessageOutcome } from '../contracts/outcomes.ts';
import type { TestResult } from '../contracts/responses/notifications.ts';

export type Failure = {
  /** `throttled` and `transient` are retried, `permanent` is not (docs/decisions/formats.md#attempt-outcomes). */
  result: 'throttled' | 'transient' | 'permanent';
  reason: FailureReason;
  cause: FailureCause;
  status?: number | undefined;
  /** Of a failed connection or AWS call, such as `ECONNREFUSED`. */
  code?: string | undefined;
  /** Minimum delay that the destination or AWS requests. */
  retryAfterMs?: number | undefined;
  /** The request was sent twice, because its first connection was closed. False by default, like the others. */
  wasResent?: boolean | undefined;
  /** False if nothing was sent, for example while AWS throttles this account; true by default. */
  countsAsAttempt?: boolean | undefined;
  /** The destination or AWS certainly rejected the message, which then counts toward no limit. */
  nothingSent?: boolean | undefined;
  /** The alert exceeds a daily limit above which alerts are summarized. */
  canBeSummarized?: boolean | undefined;
  /** The beginning of the response, without secrets (`responseText`); never logged. */
  responseText?: string | undefined;
  /** For the result of a test; never logged or stored. */
  explanation: string;
};

export type AttemptOutcome = ({ result: 'delivered'; status?: number | undefined; explanation: string } | Failure) & {
  /** Whether an endpoint of the operators failed, rather than a value of the tenant's; undefined if none was called. */
  isEndpointFailure?: boolean | undefined;
  /** Of the recipients whose email SES has accepted so far (`addressHash`). */
  reachedRecipientHashes?: string[] | undefined;
  /** For the result of a test; never logged or stored. */
  shown?: Pick<TestResult, 'request' | 'warnings'> | undefined;
};

export const failed = (
  result: Failure['result'],
  reason: FailureReason,
  explanation: string,
  rest: Partial<Omit<Failure, 'result' | 'reason' | 'explanation'>> = {},
): Failure => ({ result, reason, cause: 'destination', explanation, ...rest });

/** What became of a message on a sender's queue. */
export type DeliveryResult = {
  /** Heartbeats are neither counted nor reported. */
  kind: MessageOutcome | 'heartbeat';
  attempt?: AttemptOutcome;
  /** Ms since the epoch, if it is this attempt, and nothing postponed it. */
  firstAttemptAtMs?: number | undefined;
  cause?: FailureCause;
  /** Superseded although SQS accepted the event more than 60 s after the newer one. */
  hasOlderTimestamp?: boolean;
  /** Another message of the same event, or another event with its ID, made the delivery. */
  isRepeated?: boolean;
  /** The message stays on its queue, with its visibility timeout already set. All others are acknowledged. */
  isReturned?: true;
  /** By default if that is its kind. */
  isInternalError?: boolean;
};
