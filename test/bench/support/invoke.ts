import { readFileSync } from 'node:fs';
import { ClientRequest } from 'node:http';
import { createRequire } from 'node:module';
import { NEIGHBOR } from './neighbor.ts';

/* Loads a bundle as the Lambda runtime does, and invokes it. Runs as built JavaScript in its own process. */

export type Invocation = {
  ms: number;
  cpuMs: number;
  /** CPU time until the alert of a neighbor in the batch was sent. */
  neighborCpuMs?: number;
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
const TIMEOUT_MS = 30_000;

let logBytes = 0;
// Counts the log of the function instead of printing it.
process.stdout.write = (text: string | Uint8Array) => {
  logBytes += Buffer.byteLength(text);
  return true;
};

/** Unlike `process.resourceUsage()`, this does not include the memory of the process that started this one. */
const peakMb = (): number => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_024;

let onNeighbor = (): void => undefined;

// Watches for the request that sends the alert of a neighbor. A table only stores its record.
ClientRequest.prototype.end = new Proxy(ClientRequest.prototype.end, {
  apply(end, request: ClientRequest, args: [body?: unknown]) {
    const [body] = args;
    const isTable = String(request.getHeader('x-amz-target')).startsWith('DynamoDB');
    if (!isTable && (typeof body === 'string' || Buffer.isBuffer(body)) && body.includes(NEIGHBOR)) onNeighbor();
    return Reflect.apply(end, request, args);
  },
});

const invoke = async (event: unknown): Promise<Omit<Invocation, 'peakMb'>> => {
  const [startMs, cpuBefore] = [performance.now(), process.cpuUsage()];
  const cpuMs = () => {
    const { user, system } = process.cpuUsage(cpuBefore);
    return (user + system) / 1_000;
  };
  let neighbor: Pick<Invocation, 'neighborCpuMs'> = {};
  onNeighbor = () => {
    neighbor = { neighborCpuMs: cpuMs() };
  };
  logBytes = 0;
  const getRemainingTimeInMillis = () => startMs + TIMEOUT_MS - performance.now();
  const context = { awsRequestId: 'invocation', functionName: 'function', getRemainingTimeInMillis };
  const result = (await handler(event, context)) ?? null;
  const endMs = performance.now();
  const endedAtMs = performance.timeOrigin + endMs;
  return { ms: endMs - startMs, cpuMs: cpuMs(), ...neighbor, endedAtMs, logBytes, result };
};

process.on('message', async (events: unknown[]) => {
  const invocations = [];
  for (const event of events) invocations.push(await invoke(event));
  process.send?.(invocations.map((invocation): Invocation => ({ ...invocation, peakMb: peakMb() })));
});
process.on('disconnect', () => process.exit());
