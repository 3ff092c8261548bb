import { join } from 'node:path';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MovableClock } from '../../../../bin/local/aws/clock.ts';
import { lambdaService } from '../../../../bin/local/aws/lambda/invoke-api.ts';
import type { InvocationReport } from '../../../../bin/local/aws/lambda/lambda.ts';
import { createLambda, type Lambda } from '../../../../bin/local/aws/lambda/lambda.ts';
import { writeBundles } from '../support/bundles.ts';
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
      console.log('waiting for time to be moved');
      while (Date.now() - start < 3_600_000) await new Promise(setImmediate);
      return { moved: Date.now() - start, remaining: context.getRemainingTimeInMillis() };
    };`,
  finish: `
    exports.handler = async ({ below }, context) => {
      console.log('waiting for the end to come');
      while (context.getRemainingTimeInMillis() > below) await new Promise(setImmediate);
      return { remaining: context.getRemainingTimeInMillis() };
    };`,
  count: `
    let calls = 0;
    exports.handler = async () => ++calls;`,
  meet: `
    // Answers only when as many sandboxes as asked for are busy at the same time.
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
      if (how === 'reject later') { Promise.reject(new Error('nobody listens')); await new Promise(() => {}); }
      if (how === 'spin') for (;;);
      if (how === 'answer too much') return 'x'.repeat(6 * 1024 * 1024);
      return how;
    };`,
  linger: `
    let ticks = 0;
    exports.handler = async ({ start }) => {
      if (start) setInterval(() => { ticks += 1; }, 1);
      return ticks;
    };`,
  chat: `
    exports.handler = async ({ lines }) => {
      for (let line = 0; line < lines; line += 1) console.log('line ' + line + 'x'.repeat(1000));
    };`,
  consume: `
    const kept = [];
    const ways = {
      objects: () => { for (;;) kept.push({ some: ['objects', kept.length] }); },
      arrays: () => { for (;;) kept.push(new Array(1e6).fill(1)); },
      buffers: async () => {
        for (;;) {
          kept.push(Buffer.alloc(4e6, 1));
          await new Promise(setImmediate);
        }
      },
      garbage: async () => {
        for (let turn = 0; turn < 60; turn += 1) {
          new Array(1e5).fill({}).map(String);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      },
    };
    exports.handler = async ({ how }) => { await ways[how]?.(); return 'well'; };`,
  hang: `exports.handler = () => new Promise(() => {});`,
  broken: `throw new SyntaxError('this bundle is broken');`,
  print: `
    exports.handler = async () => {
      console.log(JSON.stringify({ level: 'INFO', message: 'hello', notification: 'nt1', cold_start: true }));
      console.error('plain\\ntext');
      await new Promise((resolve) => setTimeout(resolve, 10));
    };`,
};
const bundles = writeBundles(codes);

const lines: string[] = [];
const reports: InvocationReport[] = [];
const settings = (name: string) => ({
  name,
  arn: `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
  directory: join(bundles.directory, name),
  handler: 'index.handler',
  timeoutSeconds: timeouts.get(name) ?? 20,
  memoryMb: 128,
  environment: { GREETING: 'hello' },
});
/** Timeouts in seconds of functions that reach theirs. */
const timeouts = new Map([
  ['fail', 1],
  ['hang', 1],
]);
const sizes = new Map([
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
    concurrency: (name) => sizes.get(name) ?? 2,
    endpointUrl: 'http://127.0.0.1:1',
    log: (line) => lines.push(line),
    onInvocation: (report) => reports.push(report),
  });
  local = await startEndpoint({ lambda: lambdaService(lambda) });
  client = new LambdaClient(local.client);
});
afterAll(async () => {
  client.destroy();
  await local.stop();
  await lambda.stop();
  bundles.remove();
});

const invoke = async (name: string, event: unknown = {}) => {
  const { payload, failed } = await lambda.invoke(name, JSON.stringify(event));
  return { failed, answer: JSON.parse(payload) };
};

describe('a sandbox', () => {
  it('gives the function its event, a context, and exactly its environment', async () => {
    const { failed, answer } = await invoke('describe', { key: 'välue' });
    expect(failed).toBe(false);
    expect(answer).toMatchObject({
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
    expect(answer.environment).not.toHaveProperty('PATH');
    expect(answer.context.remaining).toBeGreaterThan(0);
    expect(answer.context.remaining).toBeLessThanOrEqual(20_000);
  });

  it('has as much time left as before when time is moved forward while it runs', async () => {
    const waiting = invoke('wait');
    while (!lines.some((line) => line.includes('waiting for time to be moved'))) await new Promise(setImmediate);
    await clock.advance(3_600_000);
    const { answer } = await waiting;
    expect(answer.moved).toBeGreaterThanOrEqual(3_600_000);
    expect(answer.remaining).toBeGreaterThan(0);
  });

  it('has less time left when a test takes some of it, until its next invocation', async () => {
    const finishing = invoke('finish', { below: 5_000 });
    while (!lines.some((line) => line.includes('waiting for the end to come'))) await new Promise(setImmediate);
    lambda.reduceRemainingTime('finish', 16_000);
    expect((await finishing).answer.remaining).toBeLessThanOrEqual(5_000);
    const { answer } = await invoke('finish', { below: 20_000 });
    expect(answer.remaining).toBeGreaterThan(5_000);
  });

  it('is killed when a test has taken all the time that an invocation had left', async () => {
    const before = lines.length;
    const finishing = invoke('finish', { below: -1 });
    while (!lines.slice(before).some((line) => line.includes('waiting for the end'))) await new Promise(setImmediate);
    lambda.reduceRemainingTime('finish', 20_000);
    expect((await finishing).answer.errorType).toBe('Sandbox.Timedout');
  });

  it('is used again, so that what a module remembers is there', async () => {
    expect(await invoke('count')).toEqual({ failed: false, answer: 1 });
    expect(await invoke('count')).toEqual({ failed: false, answer: 2 });
  });

  it('handles one event at a time: others wait, or get a sandbox of their own', async () => {
    const counted = await Promise.all([invoke('count'), invoke('count')]);
    expect(counted.map(({ answer }) => answer)).toEqual([3, 4]);
    const met = await Promise.all([1, 2, 3].map(() => invoke('meet', { together: 3 })));
    expect(met.map(({ answer }) => answer)).toEqual([3, 3, 3]);
  });

  it.each([
    ['throw', { errorType: 'RangeError', errorMessage: 'out of range', trace: expect.any(Array) }],
    ['exit', { errorType: 'Runtime.ExitError', errorMessage: expect.stringContaining('exit status 7') }],
    ['reject later', { errorType: 'Error', errorMessage: expect.stringContaining('nobody listens') }],
    [
      'spin',
      { errorType: 'Sandbox.Timedout', errorMessage: expect.stringContaining('Task timed out after 1.00 seconds') },
    ],
    ['answer too much', { errorType: 'Function.ResponseSizeTooLarge' }],
  ])('fails its invocation and is replaced when the function does this: %s', async (how, error) => {
    const [failure, next] = await Promise.all([invoke('fail', { how }), invoke('fail', { how: 'well' })]);
    expect(failure).toMatchObject({ failed: true, answer: error });
    expect(next).toEqual({ failed: false, answer: 'well' });
    expect(await invoke('fail', { how: 'well' })).toEqual({ failed: false, answer: 'well' });
  });

  it('fails every invocation of a bundle that cannot be loaded', async () => {
    expect(await invoke('broken')).toMatchObject({ failed: true, answer: { errorType: 'SyntaxError' } });
    expect(await invoke('broken')).toMatchObject({ failed: true });
  });

  it('can be killed while it is busy', async () => {
    expect(lambda.killOne('hang')).toBe(false);
    const hanging = invoke('hang');
    expect(lambda.killOne('hang')).toBe(true);
    expect(await hanging).toMatchObject({ failed: true, answer: { errorType: 'Runtime.ExitError' } });
  });

  it('has what it prints shown in one readable line each', async () => {
    lines.length = 0;
    await invoke('print');
    expect(lines.map((line) => line.replace(/^[\d:.]+ /, ''))).toEqual([
      'print INFO hello notification=nt1',
      'print plain',
      'print text',
    ]);
  });
});

describe('a sandbox that has answered', () => {
  const realTime = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('is frozen: its timers do not run until the next invocation', async () => {
    await invoke('linger', { start: true });
    await realTime(150);
    const { answer } = await invoke('linger');
    expect(answer).toBeLessThan(10);
    expect((await invoke('linger')).answer).toBeGreaterThanOrEqual(answer);
  });

  it('has handed over all that it printed before it is frozen', async () => {
    lines.length = 0;
    await invoke('chat', { lines: 500 });
    while (lines.length < 500) await realTime(1);
    expect(lines).toHaveLength(500);
  });

  it('can be killed while it is frozen', async () => {
    await invoke('linger');
    expect(lambda.killOne('linger')).toBe(true);
    expect(lambda.killOne('linger')).toBe(false);
    expect(await invoke('linger')).toEqual({ failed: false, answer: 0 });
  });
});

describe('the memory of a function', () => {
  it.each(['objects', 'arrays', 'buffers'])(
    'ends a sandbox that takes more of it for %s, and no other',
    async (how) => {
      const { failed, answer } = await invoke('consume', { how });
      expect({ failed, answer }).toMatchObject({
        failed: true,
        answer: { errorType: 'Runtime.OutOfMemory', errorMessage: expect.stringContaining('signal: killed') },
      });
      expect(await invoke('consume')).toEqual({ failed: false, answer: 'well' });
    },
  );

  it('is not used up by garbage', async () => {
    expect(await invoke('consume', { how: 'garbage' })).toEqual({ failed: false, answer: 'well' });
  });
});

describe('what is reported of invocations', () => {
  const reported = async (work: () => Promise<unknown>) => {
    reports.length = 0;
    await work();
    return [...reports];
  };

  it.each([
    ['well', 'success'],
    ['throw', 'error'],
    ['exit', 'error'],
    ['answer too much', 'error'],
  ])('for a function that ends like this: %s', async (how, result) => {
    expect(await reported(() => invoke('fail', { how }))).toEqual([
      { functionName: 'fail', endedAtMs: expect.any(Number), result, durationMs: expect.any(Number) },
    ]);
  });

  it('holds how long the function ran, up to its timeout', async () => {
    const [report] = await reported(() => invoke('fail', { how: 'spin' }));
    expect(report).toMatchObject({ result: 'error' });
    expect(report?.durationMs).toBeGreaterThanOrEqual(990);
  });

  it('marks an invocation that was throttled, for which nothing ran', async () => {
    const release = lambda.throttle('count');
    const throttled = await reported(() => invoke('count'));
    release();
    expect(throttled).toMatchObject([{ functionName: 'count', result: 'throttle', durationMs: 0 }]);
    expect(await reported(() => invoke('count'))).toMatchObject([{ functionName: 'count', result: 'success' }]);
  });
});

describe('a throttled function', () => {
  it('refuses a synchronous invoke with 429 TooManyRequestsException until every throttle is released', async () => {
    const send = () => client.send(new InvokeCommand({ FunctionName: 'count', Payload: '{}' }));
    const releases = [lambda.throttle('count'), lambda.throttle('count')];
    const refused = { name: 'TooManyRequestsException', $metadata: { httpStatusCode: 429 } };
    await expect(send()).rejects.toMatchObject(refused);
    releases[0]?.();
    releases[0]?.();
    await expect(send()).rejects.toMatchObject(refused);
    releases[1]?.();
    expect(await send()).toMatchObject({ StatusCode: 200 });
  });

  it('does not throttle the other functions', async () => {
    const release = lambda.throttle('count');
    expect(await invoke('fail', { how: 'well' })).toEqual({ failed: false, answer: 'well' });
    release();
  });
});

describe('invoking by the SDK', () => {
  it('answers what the function answers', async () => {
    const answer = await client.send(new InvokeCommand({ FunctionName: 'fail', Payload: '{"how":"well"}' }));
    expect(answer).toMatchObject({ StatusCode: 200, ExecutedVersion: '$LATEST' });
    expect(answer.FunctionError).toBeUndefined();
    expect(answer.Payload?.transformToString()).toBe('"well"');
  });

  it('marks the error of a function', async () => {
    const FunctionName = settings('fail').arn;
    const answer = await client.send(new InvokeCommand({ FunctionName, Payload: '{"how":"throw"}' }));
    expect(answer).toMatchObject({ StatusCode: 200, FunctionError: 'Unhandled' });
    expect(answer.Payload?.transformToString()).toContain('out of range');
  });

  it('does not wait for an asynchronous invoke', async () => {
    const answer = await client.send(new InvokeCommand({ FunctionName: 'hang', InvocationType: 'Event' }));
    expect(answer.StatusCode).toBe(202);
  });

  it('refuses what Lambda refuses', async () => {
    const large = JSON.stringify('x'.repeat(6 * 1024 * 1024));
    const send = (FunctionName: string, Payload = '{}') => client.send(new InvokeCommand({ FunctionName, Payload }));
    await expect(send('nobody')).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    await expect(send('fail', large)).rejects.toMatchObject({ name: 'RequestTooLargeException' });
    await expect(send('fail', 'no json')).rejects.toMatchObject({ name: 'InvalidRequestContentException' });
  });
});
