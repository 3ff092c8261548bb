import { readFileSync } from 'node:fs';

/**
 * Returns the largest resident set of this process in MB, including pages that it shares with others. Unlike
 * `process.resourceUsage()`, it does not include that of the process that started it.
 */
export const peakMemoryMb = (): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_024;
