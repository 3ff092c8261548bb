import { getPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { MovableClock } from '../../clock.ts';
import { lambdaService } from '../../lambda/invoke-api.ts';
import type { InvocationReport } from '../../lambda/lambda.ts';
import { createLambda, type Lambda } from '../../lambda/lambda.ts';
import { useBundles } from '../support/bundles.ts';
import { startEndpoint, type TestEndpoint } from '../support/endpoint.ts';

const codes = {
  describe: `
    exports.handler = async (event, context) => ({
      event,
      context: { ...context, remaining: context.getRemainingTimeInMillis() },
      environment: process.env,
    });`,
  wait: `
    exports.handler = async (_, context) => {
      const start = Date.now();
      console.log('waiting for the clock to move');
      while (Date.now() - start < 3_600_000) await new Promise(setImmediate);
      return { moved: Date.now() - start, remaining: context.getRemainingTimeInMillis() };
    };`,
  count: `
    let calls = 0;
    exports.handler = async () => ++calls;`,
  meet: `
    // Returns once the given number of execution environments are busy at the same time.
    const { BroadcastChannel } = require('node:worker_threads');
    exports.handler = ({ together }) => new Promise((resolve) => {
      const channel = new BroadcastChannel('meet');
      const met = new Set();
      const me = process.hrtime.bigint().toString() + Math.random();
      const greet = () => channel.postMessage(me);
      channel.onmessage = ({ data }) => {
        if (!met.has(data)) greet();
        met.add(data);
        if (met.size >= together - 1) { channel.close(); resolve(met.size + 1); }
      };
      greet();
    });`,
  fail: `
    exports.handler = async ({ how }) => {
      if (how === 'throw') throw new RangeError('out of range');
      if (how === 'exit') process.exit(7);
      if (how === 'reject later') { Promise.reject(new Error('unhandled')); await new Promise(() => {}); }
      if (how === 'return too much') return 'x'.repeat(6 * 1024 * 1024);
      return how;
    };`,
  spin: `
    exports.handler = async ({ how }) => {
      if (how === 'spin') for (;;);
      return how;
    };`,
  linger: `
    const ticksAtMs = [];
    exports.handler = async ({ start }) => {
      if (start) setInterval(() => ticksAtMs.push(Number(process.hrtime.bigint()) / 1e6), 1);
      if (start) console.log('started');
      return ticksAtMs;
    };`,
  consume: `
    const retained = [];
    exports.handler = async ({ how }) => {
      while (how === 'buffers') {
        retained.push(Buffer.alloc(4e6, 1));
        await new Promise(setImmediate);
      }
      return 'done';
    };`,
  priority: `exports.handler = () => require('node:os').getPriority();`,
  hang: `exports.handler = () => new Promise(() => {});`,
};
const bundles = useBundles(codes);

const lines: string[] = [];
const rawLines: string[] = [];
const reports: InvocationReport[] = [];
const settings = (name: string) => ({
  name,
  arn: `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
  directory: join(bundles.directory, name),
  handler: 'index.handler',
  timeoutSeconds: timeoutsSeconds.get(name) ?? 600,
  memoryMb: 128,
  environment: { GREETING: 'hello' },
});
/** The timeouts of functions that reach them, or tell how much time remains. */
const timeoutsSeconds = new Map([
  ['describe', 20],
  ['spin', 1],
  ['hang', 1],
]);
const concurrency = new Map([
  ['meet', 3],
  ['count', 1],
]);
const clock = new MovableClock();
let lambda: Lambda;
let local: TestEndpoint;
let client: LambdaClient;

beforeAll(async () => {
  lambda = createLambda({
    clock,
    functions: Object.keys(codes).map(settings),
    concurrency: (name) => concurrency.get(name) ?? 2,
    endpointUrl: 'http://127.0.0.1:1',
    log: (line) => lines.push(line),
    rawLog: (line, name) => rawLines.push(`${name} ${line}`),
    onInvocation: (report) => reports.push(report),
  });
  local = await startEndpoint({ lambda: lambdaService(lambda) });
  client = new LambdaClient(local.client);
});
afterAll(async () => {
  client.destroy();
  await local.stop();
  await lambda.stop();
});

const invoke = async (name: string, event: unknown = {}) => {
  const { payload, failed } = await lambda.invoke(name, JSON.stringify(event));
  return { failed, returned: JSON.parse(payload) };
};

describe('an execution environment', () => {
  it('provides the event, the context and exactly the environment of the function', async () => {
    const { failed, returned } = await invoke('describe', { key: 'välue' });
    expect(failed).toBe(false);
    expect(returned).toMatchObject({
      event: { key: 'välue' },
      context: {
        functionName: 'describe',
        memoryLimitInMB: '128',
        invokedFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:describe',
        awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
      environment: {
        GREETING: 'hello',
        AWS_LAMBDA_FUNCTION_NAME: 'describe',
        AWS_ACCESS_KEY_ID: 'local-describe',
        AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
        AWS_REGION: 'us-east-1',
      },
    });
    expect(returned.environment).not.toHaveProperty('PATH');
    expect(returned.context.remaining).toBeGreaterThan(0);
    expect(returned.context.remaining).toBeLessThanOrEqual(20_000);
  });

  it('ends when nobody uses it, unless it is the only one of its function', async () => {
    const idle = createLambda({
      clock,
      functions: [settings('meet')],
      concurrency: () => 3,
      endpointUrl: 'http://127.0.0.1:1',
      idleMs: 10,
      log: () => undefined,
    });
    await Promise.all([1, 2, 3].map(() => idle.invoke('meet', '{"together":3}')));
    while (idle.environments('meet') > 1) await sleep(10);
    await sleep(30);
    expect(idle.environments('meet')).toBe(1);
    await idle.stop();
  });

  it.runIf(process.platform === 'linux')('leaves the CPU to the thread that is its AWS', async () => {
    const before = getPriority();
    const { returned } = await invoke('priority');
    expect(returned).toBe(Math.min(19, before + 10));
    expect(getPriority()).toBe(before);
  });

  it('keeps its remaining time when the clock moves during an invocation', async () => {
    const waiting = invoke('wait');
    while (!lines.some((line) => line.includes('waiting for the clock to move'))) await new Promise(setImmediate);
    await clock.advance(3_600_000);
    const { returned } = await waiting;
    expect(returned.moved).toBeGreaterThanOrEqual(3_600_000);
    expect(returned.remaining).toBeGreaterThan(0);
  });

  it('is reused with its module state', async () => {
    expect(await invoke('count')).toEqual({ failed: false, returned: 1 });
    expect(await invoke('count')).toEqual({ failed: false, returned: 2 });
  });

  it('handles one event at a time; others wait or get another execution environment', async () => {
    const counted = await Promise.all([invoke('count'), invoke('count')]);
    expect(counted.map(({ returned }) => returned)).toEqual([3, 4]);
    const met = await Promise.all([1, 2, 3].map(() => invoke('meet', { together: 3 })));
    expect(met.map(({ returned }) => returned)).toEqual([3, 3, 3]);
  });

  it.each([
    ['throw', { errorType: 'RangeError', errorMessage: 'out of range', trace: expect.any(Array) }],
    ['exit', { errorType: 'Runtime.ExitError', errorMessage: expect.stringContaining('exit status 7') }],
    [
      'reject later',
      {
        errorType: 'Error',
        errorMessage: expect.stringContaining('unhandled'),
        trace: expect.arrayContaining([expect.stringMatching(/^ {4}at .*index\.js:\d+:\d+/)]),
      },
    ],
    [
      'spin',
      { errorType: 'Sandbox.Timedout', errorMessage: expect.stringContaining('Task timed out after 1.00 seconds') },
    ],
    ['return too much', { errorType: 'Function.ResponseSizeTooLarge' }],
  ])('fails one invocation, and the next succeeds: %s', async (how, error) => {
    const name = how === 'spin' ? 'spin' : 'fail';
    reports.length = 0;
    const [failure, next] = await Promise.all([invoke(name, { how }), invoke(name, { how: 'done' })]);
    expect(failure).toMatchObject({ failed: true, returned: error });
    expect(rawLines.filter((line) => line.startsWith(`${name} {"time"`)).at(-1)).toMatch(
      /"type":"platform.report".*"status":"(error|failure|timeout)"\}\}$/,
    );
    const report = { functionName: name, endedAtMs: expect.any(Number), durationMs: expect.any(Number) };
    expect(reports).toEqual(
      expect.arrayContaining([
        { ...report, result: 'error' },
        { ...report, result: 'success' },
      ]),
    );
    expect(next).toEqual({ failed: false, returned: 'done' });
    expect(await invoke(name, { how: 'done' })).toEqual({ failed: false, returned: 'done' });
  });

  it('can be killed while busy', async () => {
    expect(lambda.killOne('hang')).toBe(false);
    const hanging = invoke('hang');
    expect(lambda.killOne('hang')).toBe(true);
    expect(await hanging).toMatchObject({ failed: true, returned: { errorType: 'Runtime.ExitError' } });
  });
});

describe('an execution environment between invocations', () => {
  const realTime = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  /** The time of a clock that all threads share. */
  const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;
  const tickTimes = z.array(z.number());

  it('is frozen: its timers do not run until the next invocation', async () => {
    lines.length = 0;
    await invoke('linger', { start: true });
    // On a busy machine, this thread may read the output late, and the execution environment runs until then.
    while (lines.length === 0) await realTime(1);
    const flushedAtMs = monotonicMs();
    await realTime(150);
    const resumedAtMs = monotonicMs();
    const ticksAtMs = tickTimes.parse((await invoke('linger')).returned);
    expect(ticksAtMs.filter((atMs) => atMs > flushedAtMs && atMs < resumedAtMs).length).toBeLessThan(10);
    expect(tickTimes.parse((await invoke('linger')).returned).length).toBeGreaterThanOrEqual(ticksAtMs.length);
  });

  it('can be killed', async () => {
    await invoke('linger');
    expect(lambda.killOne('linger')).toBe(true);
    expect(lambda.killOne('linger')).toBe(false);
    expect(await invoke('linger')).toEqual({ failed: false, returned: [] });
  });
});

it('the memory limit of a function is enforced per execution environment', async () => {
  const { failed, returned } = await invoke('consume', { how: 'buffers' });
  expect({ failed, returned }).toMatchObject({
    failed: true,
    returned: { errorType: 'Runtime.OutOfMemory', errorMessage: expect.stringContaining('signal: killed') },
  });
  expect(await invoke('consume')).toEqual({ failed: false, returned: 'done' });
});

it('the report of an invocation has result throttle and duration 0 if the invocation is throttled', async () => {
  reports.length = 0;
  const release = lambda.throttle('count');
  await invoke('count');
  release();
  await invoke('count');
  expect(reports).toMatchObject([
    { functionName: 'count', result: 'throttle', durationMs: 0 },
    { functionName: 'count', result: 'success' },
  ]);
});

it('a throttled function rejects synchronous invocations with 429 TooManyRequestsException until every throttle is released', async () => {
  const send = () => client.send(new InvokeCommand({ FunctionName: 'count', Payload: '{}' }));
  const releases = [lambda.throttle('count'), lambda.throttle('count')];
  const throttled = { name: 'TooManyRequestsException', $metadata: { httpStatusCode: 429 } };
  await expect(send()).rejects.toMatchObject(throttled);
  releases[0]?.();
  releases[0]?.();
  await expect(send()).rejects.toMatchObject(throttled);
  releases[1]?.();
  const response = await send();
  expect(response).toMatchObject({ StatusCode: 200, ExecutedVersion: '$LATEST' });
  expect(response.Payload?.transformToString()).toMatch(/^\d+$/);
});

it('invoking with the SDK rejects unknown functions and asynchronous invocations', async () => {
  const unknown = client.send(new InvokeCommand({ FunctionName: 'unknown' }));
  await expect(unknown).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  const asynchronous = client.send(new InvokeCommand({ FunctionName: 'fail', InvocationType: 'Event' }));
  await expect(asynchronous).rejects.toMatchObject({ name: 'UnknownOperationException' });
});
