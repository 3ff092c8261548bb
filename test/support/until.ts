import { setTimeout as sleep } from 'node:timers/promises';

/** Calls a function until it returns neither undefined nor false. @returns that value */
export const until = async <Value>(
  check: () => Value | undefined | false | Promise<Value | undefined | false>,
  intervalMs = 20,
): Promise<Value> => {
  while (true) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    await sleep(intervalMs);
  }
};
