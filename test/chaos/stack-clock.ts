import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalStack } from '../../bin/local/stack.ts';

/** How far to advance the clock of the stack when no function is running. */
const ADVANCE_MS = 30_000;

/** Advances the clock of a stack, and converts its times. */
export const createStackClock = (stack: LocalStack) => {
  /** When the clock was advanced, in ms since the epoch on this machine. */
  const advancedAtMs: number[] = [];
  const queues = [...stack.queues].filter(([name]) => !name.includes('DeadLetters')).map(([, queue]) => queue);
  // Checks all queues at once, because messages move between them.
  const areDrained = () => queues.every(({ messages }) => messages.length === 0);

  return {
    /** Advances the clock until only dead letters are left, and `isOver` returns true. */
    async drainQueues(isOver: () => boolean = () => true): Promise<void> {
      while (!isOver() || !areDrained()) {
        if (stack.lambda.busy() === 0) {
          await stack.advance(ADVANCE_MS);
          advancedAtMs.push(Date.now());
        }
        await sleep(20);
      }
    },

    /**
     * Converts a time of the stack to a time of this machine, both in ms since the epoch. The times that the clock
     * skipped become the time at which it was advanced.
     */
    toRealTimeMs(stackTimeMs: number): number {
      const before = advancedAtMs.findLastIndex((atMs, index) => atMs + ADVANCE_MS * (index + 1) <= stackTimeMs) + 1;
      return Math.min(stackTimeMs - ADVANCE_MS * before, advancedAtMs[before] ?? Number.POSITIVE_INFINITY);
    },
  };
};
