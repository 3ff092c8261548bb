import { setTimeout as sleep } from 'node:timers/promises';

/** An operation took too long. */
class OperationTimeoutError extends Error {
  override readonly name = 'OperationTimeoutError';
}

/**
 * Waits for an operation, `timeoutMs` at most, because others wait for it.
 *
 * @throws OperationTimeoutError
 */
export const withTimeout = async (operation: Promise<void>, timeoutMs: number): Promise<void> => {
  const controller = new AbortController();
  const timeout = sleep(timeoutMs, undefined, { signal: controller.signal }).then(() => {
    throw new OperationTimeoutError();
  });
  // The timeout that lost the race is aborted.
  timeout.catch(() => undefined);
  await Promise.race([operation, timeout]).finally(() => controller.abort());
};
