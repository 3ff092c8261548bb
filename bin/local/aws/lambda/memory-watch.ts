import type { Worker } from 'node:worker_threads';

/** What a Node.js process takes besides its heap; on Lambda it counts toward the memory of the function. */
const RUNTIME_MB = 40;
const megabyte = 1024 * 1024;

/** Short invocations are never looked at, so the watch costs them nothing. */
const INTERVAL_MS = 200;

/**
 * Looks at the memory of a thread every 200 ms, and calls `exceeded` once when its heap and its buffers do not fit into
 * `memoryMb`; in two looks in a row, since the first may see garbage. Ends when the returned function is called.
 */
export const watchMemory = (worker: Worker, memoryMb: number, exceeded: () => void): (() => void) => {
  let hasEnded = false;
  let wasOver = false;
  const end = () => {
    hasEnded = true;
    clearInterval(timer);
  };
  const look = async () => {
    const usedMb = await usedMegabytes(worker);
    const isOver = usedMb + RUNTIME_MB > memoryMb;
    if (!hasEnded && isOver && wasOver) {
      end();
      exceeded();
    }
    wasOver = isOver;
  };
  const timer = setInterval(() => void look(), INTERVAL_MS).unref();
  return end;
};

const usedMegabytes = async (worker: Worker): Promise<number> => {
  try {
    const { used_heap_size, external_memory } = await worker.getHeapStatistics();
    return (used_heap_size + external_memory) / megabyte;
  } catch {
    // The thread has ended.
    return 0;
  }
};
