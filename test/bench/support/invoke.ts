import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/* Loads a bundle as the Lambda runtime does, and invokes it. Runs as built JavaScript in its own process. */

/** The measurement of an invocation. */
export type Invocation = {
  ms: number;
  cpuMs: number;
  /** When it ended, in ms since the epoch, with fractions. */
  endedAtMs: number;
  /** Peak memory of the process in MB, including the pages of Node.js itself. */
  peakMb: number;
  /** Size of the invocation's log lines, including line breaks. */
  logBytes: number;
  result: unknown;
};

type Handler = (event: unknown, context: object) => Promise<unknown>;

const [bundle = ''] = process.argv.slice(2);
const { handler }: { handler: Handler } = createRequire(bundle)(bundle);
const context = { awsRequestId: 'invocation', functionName: 'function', getRemainingTimeInMillis: () => 30_000 };

let logBytes = 0;
// Counts the log of the function instead of printing it.
process.stdout.write = (text: string | Uint8Array) => {
  logBytes += Buffer.byteLength(text);
  return true;
};

/** Unlike `process.resourceUsage()`, this does not include the memory of the process that started this one. */
const peakMb = (): number => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_024;

const invoke = async (event: unknown): Promise<Omit<Invocation, 'peakMb'>> => {
  const [startMs, cpuBefore] = [performance.now(), process.cpuUsage()];
  logBytes = 0;
  const result = (await handler(event, context)) ?? null;
  const endMs = performance.now();
  const { user, system } = process.cpuUsage(cpuBefore);
  const endedAtMs = performance.timeOrigin + endMs;
  return { ms: endMs - startMs, cpuMs: (user + system) / 1_000, endedAtMs, logBytes, result };
};

process.on('message', async (events: unknown[]) => {
  const invocations = [];
  for (const event of events) invocations.push(await invoke(event));
  process.send?.(invocations.map((invocation): Invocation => ({ ...invocation, peakMb: peakMb() })));
});
process.on('disconnect', () => process.exit());
