import { setTimeout as sleep } from 'node:timers/promises';

/** The maximum time that notices may delay the acknowledgment of a batch. */
export const MAX_NOTICE_MS = 5_000;
/** Reserved for the rest of the invocation. */
const RESERVED_MS = 2_000;

/** A notice, or a part of it, took too long. */
class NoticeTimeoutError extends Error {
  override readonly name = 'NoticeTimeoutError';
}

/**
 * Waits for a notice, `timeoutMs` at most, because other messages of the batch wait for their acknowledgment.
 *
 * @throws NoticeTimeoutError
 */
export const withTimeout = async (notice: Promise<unknown>, timeoutMs: number): Promise<void> => {
  const controller = new AbortController();
  const timeout = sleep(timeoutMs, undefined, { signal: controller.signal }).then(() => {
    throw new NoticeTimeoutError();
  });
  // The timeout that lost the race is aborted.
  timeout.catch(() => undefined);
  await Promise.race([notice, timeout]).finally(() => controller.abort());
};

/**
 * Waits for notices, five seconds at most. If one cannot be queued, its message must be received again, which repeats
 * all of them.
 *
 * @param timeLeft returns the milliseconds until the function times out
 * @throws the first error, after all others have ended, or NoticeTimeoutError
 */
export const waitForNotices = async (notices: readonly Promise<unknown>[], timeLeft: () => number): Promise<void> => {
  const timeoutMs = Math.max(0, Math.min(MAX_NOTICE_MS, timeLeft() - RESERVED_MS));
  const results = await Promise.allSettled(notices.map((notice) => withTimeout(notice, timeoutMs)));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
};
