import { createRequire } from 'node:module';
import { peakMemoryMb } from '../support/peak-memory.ts';

/* Loads a bundle as the Lambda runtime does, and invokes it. Runs as built JavaScript in its own, limited process. */

/** The message from the sandbox after an invocation. */
export type Invocation = {
  ms: number;
  cpuMs: number;
  /** Peak memory of the process. */
  peakMb: number;
  /** Size of the invocation's log lines, including line breaks. */
  logBytes: number;
  result: unknown;
};

type Handler = (event: unknown, context: object) => Promise<unknown>;

/** The timeout of the functions. */
const TIMEOUT_MS = 30_000;

const [bundle = ''] = process.argv.slice(2);
const { handler }: { handler: Handler } = createRequire(bundle)(bundle);

let logBytes = 0;
// Counts the log of the function instead of printing it.
process.stdout.write = (text: string | Uint8Array) => {
  logBytes += Buffer.byteLength(text);
  return true;
};

process.on('message', async ({ event }: { event: unknown }) => {
  const [startMs, cpuBefore] = [performance.now(), process.cpuUsage()];
  logBytes = 0;
  const elapsedMs = () => performance.now() - startMs;
  const context = {
    awsRequestId: 'invocation',
    functionName: 'function',
    getRemainingTimeInMillis: () => TIMEOUT_MS - elapsedMs(),
  };
  const result = await handler(event, context);
  const { user, system } = process.cpuUsage(cpuBefore);
  const invocation: Invocation = {
    ms: elapsedMs(),
    cpuMs: (user + system) / 1_000,
    peakMb: peakMemoryMb(),
    logBytes,
    result,
  };
  process.send?.(invocation);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
