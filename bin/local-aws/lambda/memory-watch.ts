import type { Worker } from 'node:worker_threads';

/** The memory of a Node.js process without its heap and buffers. Lambda counts it toward the memory of a function. */
const RUNTIME_MB = 40;
const MEGABYTE = 1024 * 1024;

/** Invocations shorter than this are never checked, so they have no overhead. */
const CHECK_INTERVAL_MS = 200;

/**
 * Calls `onExceeded` once when the heap and buffers of a thread and `RUNTIME_MB` together exceed `memoryMb` in two
 * consecutive checks, because one check may include garbage. Stops when the returned function is called.
 */
export const watchMemory = (worker: Worker, memoryMb: number, onExceeded: () => void): (() => void) => {
  let hasEnded = false;
  let wasOver = false;
  const end = () => {
    hasEnded = true;
    clearInterval(timer);
  };
  const check = async () => {
    const usedMb = await usedMegabytes(worker);
    const isOver = usedMb + RUNTIME_MB > memoryMb;
    if (!hasEnded && isOver && wasOver) {
      end();
      onExceeded();
    }
    wasOver = isOver;
  };
  const timer = setInterval(() => void check(), CHECK_INTERVAL_MS).unref();
  return end;
};

const usedMegabytes = async (worker: Worker): Promise<number> => {
  try {
    const { used_heap_size, external_memory } = await worker.getHeapStatistics();
    return (used_heap_size + external_memory) / MEGABYTE;
  } catch {
    // The thread has ended.
    return 0;
  }
};
