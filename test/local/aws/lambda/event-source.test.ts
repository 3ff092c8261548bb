import { describe, expect, it } from 'vitest';
import { MovableClock } from '../../../../bin/local/aws/clock.ts';
import {
  type EventSourceSettings,
  processedReceipts,
  toEvents,
} from '../../../../bin/local/aws/lambda/event-source.ts';
import { poll } from '../../../../bin/local/aws/lambda/poller.ts';
import type { InvocationResult } from '../../../../bin/local/aws/lambda/pool.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { message, queueOf, queueWithDeadLetters } from '../support/queues.ts';

const settings = (changes: Partial<EventSourceSettings> = {}): EventSourceSettings => ({
  functionName: 'consume',
  queueArn: 'arn:aws:sqs:us-east-1:000000000000:jobs',
  batchSize: 10,
  windowSeconds: 0,
  maxConcurrency: 2,
  reportsFailures: true,
  ...changes,
});
const success = (answer: unknown): InvocationResult => ({
  requestId: 'r',
  payload: JSON.stringify(answer),
  failed: false,
});
const failure: InvocationResult = { requestId: 'r', payload: '{"errorType":"Error"}', failed: true };

const receipts = async (...bodies: string[]) => {
  const queue = queueOf(new ManualClock());
  for (const body of bodies) queue.send(message(body));
  return queue.receive({ maxMessages: 10 });
};

describe('the event of a batch', () => {
  it('holds records as Lambda gives them', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    const attributes = new Map([
      ['reason', { dataType: 'String', value: 'late' }],
      ['bytes', { dataType: 'Binary', value: Buffer.from([1]) }],
    ]);
    const messageId = queue.send({ body: 'hello', attributes, groupId: 'acme', senderId: 'someone' });
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
            SenderId: 'someone',
            ApproximateFirstReceiveTimestamp: now,
            MessageGroupId: 'acme',
          },
          messageAttributes: {
            reason: { stringValue: 'late', stringListValues: [], binaryListValues: [], dataType: 'String' },
            bytes: { binaryValue: 'AQ==', stringListValues: [], binaryListValues: [], dataType: 'Binary' },
          },
          md5OfBody: '5d41402abc4b2a76b9719d911017c592',
          eventSource: 'aws:sqs',
          eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:jobs',
          awsRegion: 'us-east-1',
        },
      ],
    });
  });

  it('stays below 6 MB: a batch that would be larger becomes several', async () => {
    const bodies = Array.from({ length: 10 }, () => 'x'.repeat(1_000_000));
    const batches = toEvents(await receipts(...bodies), settings().queueArn);
    expect(batches.map((batch) => batch.receipts.length)).toEqual([6, 4]);
    for (const { event } of batches) expect(Buffer.byteLength(event)).toBeLessThanOrEqual(6 * 1024 * 1024);
  });
});

describe('what is done after a batch', () => {
  const done = async (answer: unknown, reportsFailures = true) =>
    processedReceipts(await receipts('a', 'b'), success(answer), reportsFailures).map(
      (receipt) => receipt.message.body,
    );

  it.each([
    ['nothing', null],
    ['an empty object', {}],
    ['no list', { batchItemFailures: null }],
    ['an empty list', { batchItemFailures: [] }],
  ])('is everything where the function answers %s', async (_, answer) => {
    expect(await done(answer)).toEqual(['a', 'b']);
  });

  it.each([
    ['an empty identifier', { batchItemFailures: [{ itemIdentifier: '' }] }],
    ['a null identifier', { batchItemFailures: [{ itemIdentifier: null }] }],
    ['an unknown identifier', { batchItemFailures: [{ itemIdentifier: 'unknown' }] }],
    ['a misspelt key', { batchItemFailures: [{ itemIdentifer: 'x' }] }],
    ['a text', 'all went well'],
    ['a list', []],
  ])('is nothing where the function answers %s', async (_, answer) => {
    expect(await done(answer)).toEqual([]);
  });

  it('is what the function does not name', async () => {
    const batch = await receipts('a', 'b', 'c');
    const batchItemFailures = [{ itemIdentifier: batch[1]?.message.id }];
    const finished = processedReceipts(batch, success({ batchItemFailures }), true);
    expect(finished.map((receipt) => receipt.message.body)).toEqual(['a', 'c']);
  });

  it('is nothing where the function failed, and everything where it does not report failures', async () => {
    expect(processedReceipts(await receipts('a'), failure, false)).toEqual([]);
    expect(await done({ batchItemFailures: [{ itemIdentifier: '' }] }, false)).toEqual(['a', 'b']);
  });
});

describe('polling', () => {
  /** A function under the hand of a test: it answers when told to. */
  const heldFunction = () => {
    const held: { bodies: string[]; end: (result: InvocationResult) => void }[] = [];
    const invoke = (event: string) =>
      new Promise<InvocationResult>((resolve) => {
        const bodies = JSON.parse(event).Records.map((record: { body: string }) => record.body);
        held.push({ bodies, end: resolve });
      });
    return { held, invoke };
  };
  const turns = async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  };

  it('hands over at once what comes, and deletes what is done', async () => {
    const controller = new AbortController();
    const clock = new ManualClock();
    const queue = queueOf(clock);
    const { held, invoke } = heldFunction();
    const polling = poll({ source: settings(), queue, clock, invoke }, controller.signal);
    queue.send(message('a'));
    queue.send(message('b'));
    await turns();
    expect(held.map(({ bodies }) => bodies)).toEqual([['a', 'b']]);
    held[0]?.end(success(null));
    await turns();
    expect(queue.messages).toEqual([]);
    controller.abort();
    await polling;
  });

  it('receives only while the function may take another batch, so that waiting costs no receive', async () => {
    const controller = new AbortController();
    const clock = new ManualClock();
    const queue = queueOf(clock);
    const { held, invoke } = heldFunction();
    for (const body of ['a', 'b', 'c']) queue.send(message(body));
    const polling = poll({ source: settings({ batchSize: 1 }), queue, clock, invoke }, controller.signal);
    await turns();
    expect(held.map(({ bodies }) => bodies)).toEqual([['a'], ['b']]);
    expect(queue.counts).toMatchObject({ visible: 1, inFlight: 2 });
    held[0]?.end(success(null));
    await turns();
    expect(held.map(({ bodies }) => bodies)).toEqual([['a'], ['b'], ['c']]);
    controller.abort();
    for (const { end } of held) end(success(null));
    await polling;
  });

  it('starts with five batches at once, however many are allowed', async () => {
    const controller = new AbortController();
    const clock = new ManualClock();
    const queue = queueOf(clock);
    const { held, invoke } = heldFunction();
    for (let n = 0; n < 20; n += 1) queue.send(message(String(n)));
    const source = settings({ batchSize: 1, maxConcurrency: 50 });
    const polling = poll({ source, queue, clock, invoke }, controller.signal);
    await turns();
    expect(held).toHaveLength(5);
    controller.abort();
    await polling;
  });

  it('gathers a batch until it is full or its window ends, by the time that the queue lives by', async () => {
    const controller = new AbortController();
    const clock = new ManualClock();
    const queue = queueOf(clock);
    const { held, invoke } = heldFunction();
    const source = settings({ batchSize: 3, windowSeconds: 5 });
    const polling = poll({ source, queue, clock, invoke }, controller.signal);
    for (const body of ['a', 'b', 'c']) {
      queue.send(message(body));
      await turns();
    }
    queue.send(message('d'));
    await turns();
    clock.advance(4);
    queue.send(message('e'));
    await turns();
    expect(held.map(({ bodies }) => bodies)).toEqual([['a', 'b', 'c']]);
    clock.advance(1);
    await turns();
    expect(held.map(({ bodies }) => bodies)).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
    controller.abort();
    for (const { end } of held) end(success(null));
    await polling;
  });

  it('leaves what failed to its visibility timeout, until it dies', async () => {
    const controller = new AbortController();
    const { clock, queue, dead } = queueWithDeadLetters(2);
    const { held, invoke } = heldFunction();
    const polling = poll({ source: settings(), queue, clock, invoke }, controller.signal);
    queue.send(message('a'));
    for (const attempt of [0, 1]) {
      await turns();
      expect(held).toHaveLength(attempt + 1);
      held[attempt]?.end(failure);
      await turns();
      clock.advance(30);
    }
    await turns();
    expect(held).toHaveLength(2);
    expect(dead.messages).toMatchObject([{ body: 'a', receiveCount: 2 }]);
    controller.abort();
    await polling;
  });

  describe('when time is moved beyond the visibility timeout', () => {
    const start = (visibilitySeconds: number) => {
      const controller = new AbortController();
      const clock = new MovableClock();
      const queue = queueOf(clock, { visibilitySeconds });
      const { held, invoke } = heldFunction();
      const source = settings({ batchSize: 10, windowSeconds: 5 });
      const polling = poll({ source, queue, clock, invoke }, controller.signal);
      const stop = async () => {
        controller.abort();
        for (const { end } of held) end(success(null));
        await polling;
      };
      return { clock, queue, held, stop };
    };

    it('hands over a batch that is being gathered, and none of its messages twice', async () => {
      const { clock, queue, held, stop } = start(180);
      queue.send(message('a'));
      await turns();
      expect(held).toEqual([]);
      await clock.advance(1_000_000);
      await turns();
      expect(held.map(({ bodies }) => bodies)).toEqual([['a']]);
      expect(queue.counts).toMatchObject({ visible: 0, inFlight: 1 });
      held[0]?.end(success(null));
      await turns();
      expect(queue.messages).toEqual([]);
      expect(queue.totals).toMatchObject({ received: 1, deleted: 1 });
      await stop();
    });

    it('returns a message to the queue when its invocation has failed', async () => {
      const { clock, queue, held, stop } = start(180);
      queue.send(message('a'));
      await turns();
      await clock.advance(1_000_000);
      held[0]?.end(failure);
      await turns();
      await clock.advance(5_000);
      await turns();
      expect(held.map(({ bodies }) => bodies)).toEqual([['a'], ['a']]);
      await stop();
    });

    it('returns a message at the time that the function itself has set, while it still runs', async () => {
      const { clock, queue, held, stop } = start(180);
      queue.send(message('a'));
      await turns();
      await clock.advance(5_000);
      const [received] = queue.messages;
      const handle = Buffer.from(`jobs/${received?.id}/1`).toString('base64');
      queue.changeVisibility(handle, 2);
      await clock.advance(2_000);
      await clock.advance(5_000);
      await turns();
      expect(held.map(({ bodies }) => bodies)).toEqual([['a'], ['a']]);
      await stop();
    });
  });
});
