/** An operation took too long. */
class OperationTimeoutError extends Error {
  override readonly name = 'OperationTimeoutError';
}

/**
 * Waits for an operation, `timeoutMs` at most, because others wait for it.
 *
 * @throws OperationTimeoutError
 */
export const withTimeout = async <Result>(operation: Promise<Result>, timeoutMs: number): Promise<Result> => {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new OperationTimeoutError()), timeoutMs);
  return Promise.race([operation, timeout]).finally(() => clearTimeout(timer));
};
