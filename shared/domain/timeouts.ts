/* Each is longer than the one that it contains (docs/decisions/deliveries.md#timeouts). */

/** Of a send, including DNS, connect, TLS, headers and body. */
export const SEND_TIMEOUT_MS = 15_000;

/** Reserved for writing the record after a send. */
const TIME_TO_RECORD_MS = 2_000;

export const MIN_TIME_TO_SEND_MS = SEND_TIMEOUT_MS + TIME_TO_RECORD_MS;

/** Enough for a send and its writes; also the maximum of an integration of an HTTP API. */
export const FUNCTION_TIMEOUT_MS = 30_000;

/** Of a delivery or an incident lock: longer than the function that holds it can run. */
export const LEASE_MS = FUNCTION_TIMEOUT_MS + 5_000;

/**
 * Besides the batching window of the queue: six times the timeout of the function, as AWS recommends
 * (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html).
 */
export const VISIBILITY_TIMEOUT_MS = 6 * FUNCTION_TIMEOUT_MS;

/** Less is too short for most destinations. The AWS SDK takes 0 as no timeout. */
const MIN_SEND_TIMEOUT_MS = 1_000;

/** Earlier calls left too little time for the send. This is an internal error. */
export class NoTimeLeftError extends Error {
  override readonly name = 'NoTimeLeftError';
}

/** SEND_TIMEOUT_MS, or less if the function times out earlier. @throws NoTimeLeftError */
export const sendTimeoutMs = (timeLeft: () => number): number => {
  const remainingMs = timeLeft() - TIME_TO_RECORD_MS;
  if (remainingMs < MIN_SEND_TIMEOUT_MS) throw new NoTimeLeftError();
  return Math.min(SEND_TIMEOUT_MS, remainingMs);
};
