import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, MovableClock } from '../../clock.ts';
import { type EventSourceSettings, processedReceipts, toEvents } from '../../lambda/event-source.ts';
import type { InvocationResult } from '../../lambda/execution-environment-pool.ts';
import { poll } from '../../lambda/poller.ts';
import type { Queue } from '../../sqs/queue.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { message, queueOf } from '../support/queues.ts';

const settings = (changes: Partial<EventSourceSettings> = {}): EventSourceSettings => ({
  functionName: 'consume',
  queueArn: 'arn:aws:sqs:us-east-1:000000000000:jobs',
  batchSize: 10,
  windowSeconds: 0,
  maxConcurrency: 2,
  reportsFailures: true,
  ...changes,
});
const success = (returned: unknown): InvocationResult => ({
  requestId: 'r',
  payload: JSON.stringify(returned),
  failed: false,
});
const failure: InvocationResult = { requestId: 'r', payload: '{"errorType":"Error"}', failed: true };

const receipts = async (...bodies: string[]) => {
  const queue = queueOf(new ManualClock());
  for (const body of bodies) queue.send(message(body));
  return queue.receive({ maxMessages: 10 });
};

describe('the event of a batch', () => {
  it('has the record format of Lambda', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    const attributes = new Map([['reason', { dataType: 'String', value: 'late' }]]);
    const messageId = queue.send({ body: 'hello', attributes, groupId: 'acme', senderId: 'sender' });
    const [batch] = toEvents(await queue.receive({ maxMessages: 10 }), settings().queueArn);
    const now = String(clock.now());
    expect(JSON.parse(batch?.event ?? '')).toEqual({
      Records: [
        {
          messageId,
          receiptHandle: expect.any(String),
          body: 'hello',
          attributes: {
            ApproximateReceiveCount: '1',
            SentTimestamp: now,
            SenderId: 'sender',
            ApproximateFirstReceiveTimestamp: now,
            MessageGroupId: 'acme',
          },
          messageAttributes: {
            reason: { stringValue: 'late', stringListValues: [], binaryListValues: [], dataType: 'String' },
          },
          md5OfBody: '5d41402abc4b2a76b9719d911017c592',
          eventSource: 'aws:sqs',
          eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:jobs',
          awsRegion: 'us-east-1',
        },
      ],
    });
  });

  it('has at most 6 MB: larger batches are split', async () => {
    const bodies = Array.from({ length: 10 }, () => 'x'.repeat(1_000_000));
    const batches = toEvents(await receipts(...bodies), settings().queueArn);
    expect(batches.map((batch) => batch.receipts.length)).toEqual([6, 4]);
    for (const { event } of batches) expect(Buffer.byteLength(event)).toBeLessThanOrEqual(6 * 1024 * 1024);
  });
});

describe('the processed messages of a batch', () => {
  const processedBodies = async (returned: unknown, reportsFailures = true) =>
    processedReceipts(await receipts('a', 'b'), success(returned), reportsFailures).map(
      (receipt) => receipt.message.body,
    );

  it.each([
    ['nothing', null],
    ['no list', { batchItemFailures: null }],
    ['an empty list', { batchItemFailures: [] }],
  ])('are all messages if the function returns %s', async (_, returned) => {
    expect(await processedBodies(returned)).toEqual(['a', 'b']);
  });

  it.each([
    ['an empty identifier', { batchItemFailures: [{ itemIdentifier: '' }] }],
    ['an unknown identifier', { batchItemFailures: [{ itemIdentifier: 'unknown' }] }],
    ['a misspelled key', { batchItemFailures: [{ itemIdentifer: 'x' }] }],
    ['text', 'success'],
  ])('are none if the function returns %s', async (_, returned) => {
    expect(await processedBodies(returned)).toEqual([]);
  });

  it('are those that the function does not report as failed', async () => {
    const batch = await receipts('a', 'b', 'c');
    const batchItemFailures = [{ itemIdentifier: batch[1]?.message.id }];
    const processed = processedReceipts(batch, success({ batchItemFailures }), true);
    expect(processed.map((receipt) => receipt.message.body)).toEqual(['a', 'c']);
  });

  it('are none if the function failed, and all if it does not report failures', async () => {
    expect(processedReceipts(await receipts('a'), failure, false)).toEqual([]);
    expect(await processedBodies({ batchItemFailures: [{ itemIdentifier: '' }] }, false)).toEqual(['a', 'b']);
  });
});

describe('polling', () => {
  /** An invocation ends when the test ends it. */
  type Invocation = { bodies: string[]; end: (result: InvocationResult) => void };
  const turns = async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  };
  let stop: () => Promise<void>;
  afterEach(() => stop());

  const start = (queue: Queue, clock: Clock, changes: Partial<EventSourceSettings> = {}) => {
    const controller = new AbortController();
    const invocations: Invocation[] = [];
    const invoke = (event: string) =>
      new Promise<InvocationResult>((resolve) => {
        const bodies = JSON.parse(event).Records.map((record: { body: string }) => record.body);
        invocations.push({ bodies, end: resolve });
      });
    const polling = poll({ source: settings(changes), queue, clock, invoke }, controller.signal);
    stop = async () => {
      controller.abort();
      for (const { end } of invocations) end(success(null));
      await polling;
    };
    return { invocations, bodies: () => invocations.map((invocation) => invocation.bodies) };
  };

  it('receives only if the function has capacity for another batch', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    for (const body of ['a', 'b', 'c']) queue.send(message(body));
    const { invocations, bodies } = start(queue, clock, { batchSize: 1 });
    await turns();
    expect(bodies()).toEqual([['a'], ['b']]);
    expect(queue.counts).toMatchObject({ visible: 1, inFlight: 2 });
    invocations[0]?.end(success(null));
    await turns();
    expect(bodies()).toEqual([['a'], ['b'], ['c']]);
  });

  it('starts with five concurrent batches, even if more are allowed', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    for (let n = 0; n < 20; n += 1) queue.send(message(String(n)));
    const { invocations } = start(queue, clock, { batchSize: 1, maxConcurrency: 50 });
    await turns();
    expect(invocations).toHaveLength(5);
  });

  it('gathers messages until the batch is full or its batching window ends', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    const { bodies } = start(queue, clock, { batchSize: 3, windowSeconds: 5 });
    for (const body of ['a', 'b', 'c', 'd']) {
      queue.send(message(body));
      await turns();
    }
    clock.advance(4);
    queue.send(message('e'));
    await turns();
    expect(bodies()).toEqual([['a', 'b', 'c']]);
    clock.advance(1);
    await turns();
    expect(bodies().at(-1)).toEqual(['d', 'e']);
  });

  describe('when the clock moves beyond the visibility timeout', () => {
    const startWithMessage = async () => {
      const clock = new MovableClock();
      const queue = queueOf(clock, { visibilitySeconds: 180 });
      const started = start(queue, clock, { windowSeconds: 5 });
      queue.send(message('a'));
      await turns();
      return { clock, queue, ...started };
    };

    it('delivers a pending batch once', async () => {
      const { clock, queue, invocations, bodies } = await startWithMessage();
      expect(invocations).toEqual([]);
      await clock.advance(1_000_000);
      await turns();
      expect(bodies()).toEqual([['a']]);
      expect(queue.counts).toMatchObject({ visible: 0, inFlight: 1 });
      invocations[0]?.end(success(null));
      await turns();
      expect(queue.messages).toEqual([]);
    });

    it('returns a message to the queue after its invocation fails', async () => {
      const { clock, invocations, bodies } = await startWithMessage();
      await clock.advance(1_000_000);
      invocations[0]?.end(failure);
      await turns();
      await clock.advance(5_000);
      await turns();
      expect(bodies()).toEqual([['a'], ['a']]);
    });

    it('returns a message during its invocation if the function shortened its visibility timeout', async () => {
      const { clock, queue, bodies } = await startWithMessage();
      await clock.advance(5_000);
      const [received] = queue.messages;
      queue.changeVisibility(Buffer.from(`jobs/${received?.id}/1`).toString('base64'), 2);
      await clock.advance(2_000);
      await clock.advance(5_000);
      await turns();
      expect(bodies()).toEqual([['a'], ['a']]);
    });
  });
});
