import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliveryJob } from './delivery-job.ts';

/** The maximum duration of a write: three SDK attempts of 4 s each (`awsConfig`), with backoff. */
const MIN_TIME_TO_WRITE_MS = 13_000;
/** The delay before the first retry. Each following one is twice as long, so that an outage is not made worse. */
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 4_000;

/**
 * Repeats a write until it succeeds or no time is left. Without the record of a send, the recipient would get the alert
 * twice.
 *
 * @throws the error of the last write
 */
export const persist = async <Result>(
  { timeLeft }: Pick<DeliveryJob, 'timeLeft'>,
  write: () => Promise<Result>,
): Promise<Result> => {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    try {
      return await write();
    } catch (error) {
      const remainingMs = timeLeft() - MIN_TIME_TO_WRITE_MS;
      if (remainingMs <= 0) throw error;
      await sleep(Math.min(delayMs, remainingMs));
    }
  }
};
