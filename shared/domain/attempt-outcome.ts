/** Why a delivery failed: a closed list, the only words about a failure that logs, records and dead letters hold. */
export const reasons = [
  'status',
  'network',
  'deadline',
  'egress',
  'rejected',
  'throttled',
  'daily limit',
  'daily quota',
  'country not allowed',
  'origin paused',
  'no feed configured',
  'no contacts',
  'sender misconfigured',
  'attempts exhausted',
  'expired',
  'malformed',
  'too large',
] as const;

/** Why a delivery failed. */
export type Reason = (typeof reasons)[number];

/** Whose fault a failure is: `destination` is the tenant's to fix, `service` is ours. */
export const causes = ['destination', 'service'] as const;

/** Whose fault a failure is. */
export type Cause = (typeof causes)[number];

/** A delivery that did not succeed. */
export type Failure = {
  /** `throttled` and `transient` are tried again, `permanent` is not (design 3, Outcomes). */
  result: 'throttled' | 'transient' | 'permanent';
  reason: Reason;
  cause: Cause;
  /** The HTTP status that the destination gave. */
  status?: number | undefined;
  /** The code of a connection that failed, such as `ECONNREFUSED`. */
  code?: string | undefined;
  /** Milliseconds that the other side asks us to wait. */
  retryAfter?: number | undefined;
  /** True where it is our own account that may not send now: the attempt does not count (design 3, Outcomes). */
  free?: true | undefined;
  /** The whole truth, for the tester of a notification alone; never logged, never stored. */
  explanation: string;
};

/** What became of one attempt to deliver. */
export type Outcome = ({ result: 'delivered'; status?: number | undefined; explanation: string } | Failure) & {
  /** Parts that have arrived by now, where a delivery has several: hashes, never recipients. */
  partsDone?: string[] | undefined;
};

/** A destination that failed. */
export const failed = (
  result: Failure['result'],
  reason: Reason,
  explanation: string,
  rest: Partial<Pick<Failure, 'cause' | 'status' | 'code' | 'retryAfter' | 'free'>> = {},
): Failure => ({ result, reason, cause: 'destination', explanation, ...rest });
