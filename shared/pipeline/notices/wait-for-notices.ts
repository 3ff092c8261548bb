import { setTimeout as sleep } from 'node:timers/promises';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { count } from '../../adapters/metrics.ts';

/** The maximum time that notices may delay the acknowledgment of a batch. */
const MAX_DURATION_MS = 5_000;
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
export const withTimeout = async (notice: Promise<void>, timeoutMs: number): Promise<void> => {
  const controller = new AbortController();
  const timeout = sleep(timeoutMs, undefined, { signal: controller.signal }).then(() => {
    throw new NoticeTimeoutError();
  });
  // The timeout that lost the race is aborted.
  timeout.catch(() => undefined);
  await Promise.race([notice, timeout]).finally(() => controller.abort());
};

/**
 * Waits for notices, five seconds at most. Never rejects, because a notice must not delay other alerts: a notice that
 * cannot be queued is logged and counted, and the count triggers an alarm. Resolves to whether all are queued.
 *
 * @param ids log fields that identify the alert
 * @param timeLeft returns the milliseconds until the function times out
 */
export const waitForNotices = async (
  notices: readonly Promise<void>[],
  ids: Readonly<Record<string, string | undefined>>,
  timeLeft: () => number,
): Promise<boolean> => {
  const timeoutMs = Math.max(0, Math.min(MAX_DURATION_MS, timeLeft() - RESERVED_MS));
  const results = await Promise.allSettled(notices.map((notice) => withTimeout(notice, timeoutMs)));
  const lost = results.filter((result) => result.status === 'rejected');
  for (const { reason } of lost) logger.error('notice not queued', { ...ids, ...errorTrace(reason) });
  count({ notices_not_queued: lost.length });
  return lost.length === 0;
};
