import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliveryJob } from './delivery-job.ts';

/** How long the last try of a write may take: three SDK attempts of 4 s each (`awsConfig`), with backoff. */
const MIN_TIME_TO_WRITE_MS = 13_000;
const WAIT_BETWEEN_TRIES_MS = 250;

/**
 * Repeats a write until it succeeds or no time is left: after a send, a lost record means that the recipient gets the alert
 * twice.
 *
 * @throws the error of the last try
 */
export const persist = async <Result>({ timeLeft }: DeliveryJob, write: () => Promise<Result>): Promise<Result> => {
  while (true) {
    try {
      return await write();
    } catch (error) {
      if (timeLeft() <= MIN_TIME_TO_WRITE_MS) throw error;
      await sleep(WAIT_BETWEEN_TRIES_MS);
    }
  }
};
