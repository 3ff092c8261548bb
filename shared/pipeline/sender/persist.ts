import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliveryJob } from './delivery-job.ts';

/** The last try of a write may take this long, in ms: three tries of 4 s (`awsConfig`) and their pauses. */
const MIN_TIME_TO_WRITE_MS = 13_000;
/** Between two tries, in ms. */
const PAUSE_MS = 250;

/**
 * Writes what an attempt came to, again and again while time lasts: after a send, a lost record means that somebody receives
 * the alert twice.
 *
 * @throws the error of the last try
 */
export const persist = async <Result>({ timeLeft }: DeliveryJob, write: () => Promise<Result>): Promise<Result> => {
  while (true) {
    try {
      return await write();
    } catch (error) {
      if (timeLeft() <= MIN_TIME_TO_WRITE_MS) throw error;
      await sleep(PAUSE_MS);
    }
  }
};
