import type { FailureCause, FailureReason } from '../contracts/outcomes.ts';
import type { TestResult } from '../contracts/responses/notifications.ts';

/** A failed attempt. */
export type Failure = {
  /** `throttled` and `transient` are retried, `permanent` is not (docs/decisions/formats.md#attempt-outcomes). */
  result: 'throttled' | 'transient' | 'permanent';
  reason: FailureReason;
  cause: FailureCause;
  /** The HTTP status of the response. */
  status?: number | undefined;
  /** The error code of a failed connection or AWS call, such as `ECONNREFUSED`. */
  code?: string | undefined;
  /** Minimum delay that the destination or AWS requests, in ms. */
  retryAfterMs?: number | undefined;
  /** True if the attempt sent its request twice, because its first connection was closed. False by default. */
  wasResent?: boolean | undefined;
  /** False if nothing was sent, for example while AWS throttles this account; true by default. */
  countsAsAttempt?: boolean | undefined;
  /** True if the destination or AWS certainly rejected the message, which then counts toward no limit. False by default. */
  nothingSent?: boolean | undefined;
  /** True if the alert exceeds a daily limit above which alerts are summarized. False by default. */
  canBeSummarized?: boolean | undefined;
  /** The beginning of the response, without secrets (`responseText`); never logged. */
  responseText?: string | undefined;
  /** Message for the result of a test operation; never logged or stored. */
  explanation: string;
};

/** The outcome of an attempt. */
export type AttemptOutcome = ({ result: 'delivered'; status?: number | undefined; explanation: string } | Failure) & {
  /** Whether an endpoint of the operators failed, rather than a value of the tenant's; undefined if none was called. */
  isEndpointFailure?: boolean | undefined;
  /** Hashes of the recipients whose email SES has accepted so far (`addressHash`). */
  reachedRecipientHashes?: string[] | undefined;
  /** What the result of a test contains of the request that was sent; never logged or stored. */
  shown?: Pick<TestResult, 'request' | 'warnings'> | undefined;
};

/** Returns a failure, by default with the cause `destination`. */
export const failed = (
  result: Failure['result'],
  reason: FailureReason,
  explanation: string,
  rest: Partial<
    Pick<
      Failure,
      'cause' | 'status' | 'code' | 'wasResent' | 'retryAfterMs' | 'countsAsAttempt' | 'nothingSent' | 'canBeSummarized'
    >
  > = {},
): Failure => ({ result, reason, cause: 'destination', explanation, ...rest });
