import { setTimeout as wait } from 'node:timers/promises';

/** Repeats an operation until `delayAfter` returns no ms to wait. What it says at last is the result, also an error. */
export const withRetries = async <Result>(
  operation: () => Promise<Result>,
  delayAfter: (attempt: PromiseSettledResult<Result>, attempts: number) => number | undefined,
  sleep: (delayMs: number) => Promise<unknown> = wait,
): Promise<Result> => {
  for (let attempts = 1; ; attempts++) {
    const [attempt] = await Promise.allSettled([operation()]);
    const delayMs = delayAfter(attempt, attempts);
    if (delayMs !== undefined) await sleep(delayMs);
    else if (attempt.status === 'fulfilled') return attempt.value;
    else throw attempt.reason;
  }
};

class OperationTimeoutError extends Error {
  override readonly name = 'OperationTimeoutError';
}

/** Waits `timeoutMs` at most, because others wait for it. @throws OperationTimeoutError */
export const withTimeout = async <Result>(operation: Promise<Result>, timeoutMs: number): Promise<Result> => {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new OperationTimeoutError()), timeoutMs);
  return Promise.race([operation, timeout]).finally(() => clearTimeout(timer));
};

/** Waits for all of them, so that one failure prevents nothing else. @throws the first error */
export const allSettled = async (actions: readonly Promise<unknown>[]): Promise<void> => {
  const failed = (await Promise.allSettled(actions)).find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
};
