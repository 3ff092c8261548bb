import type { FailureCause, FailureReason } from '../contracts/outcomes.ts';

/** A delivery that did not succeed. */
export type Failure = {
  /** `throttled` and `transient` are tried again, `permanent` is not (design 3, Outcomes). */
  result: 'throttled' | 'transient' | 'permanent';
  reason: FailureReason;
  cause: FailureCause;
  /** The HTTP status that the destination gave. */
  status?: number | undefined;
  /** The code of a connection that failed, such as `ECONNREFUSED`. */
  code?: string | undefined;
  /** Milliseconds that the other side asks us to wait. */
  retryAfterMs?: number | undefined;
  /** True where it is our own account that may not send now: the attempt does not count (design 3, Outcomes). */
  countsAsAttempt?: boolean | undefined;
  /** The whole truth, for the tester of a notification alone; never logged, never stored. */
  explanation: string;
};

/** What became of one attempt to deliver. */
export type AttemptOutcome = ({ result: 'delivered'; status?: number | undefined; explanation: string } | Failure) & {
  /** Parts that have arrived by now, where a delivery has several: hashes, never recipients. */
  reachedRecipientHashes?: string[] | undefined;
};

/** A destination that failed. */
export const failed = (
  result: Failure['result'],
  reason: FailureReason,
  explanation: string,
  rest: Partial<Pick<Failure, 'cause' | 'status' | 'code' | 'retryAfterMs' | 'countsAsAttempt'>> = {},
): Failure => ({ result, reason, cause: 'destination', explanation, ...rest });
