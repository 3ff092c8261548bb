import { describe, expect, it } from 'vitest';
import { ManualClock } from '../support/manual-clock.ts';
import { message, queueOf, queueWithDeadLetters, receiveBodies, receiveOne } from '../support/queues.ts';

const received = async () => {
  const clock = new ManualClock();
  const queue = queueOf(clock);
  queue.send(message('a'));
  const { handle } = await receiveOne(queue);
  return { clock, queue, handle };
};

describe('a received message', () => {
  it('is hidden until its visibility timeout expires', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock, { visibilitySeconds: 30 });
    queue.send(message('a'), 10);
    expect(await receiveBodies(queue)).toEqual([]);
    clock.advance(10);
    expect(await receiveBodies(queue)).toEqual(['a']);
    clock.advance(29);
    expect(await receiveBodies(queue)).toEqual([]);
    clock.advance(1);
    expect(await receiveBodies(queue)).toEqual(['a']);
  });

  it('is hidden longer or shown immediately when its visibility timeout is changed', async () => {
    const { clock, queue, handle } = await received();
    queue.changeVisibility(handle, 100);
    clock.advance(99);
    expect(await receiveBodies(queue)).toEqual([]);
    queue.changeVisibility(handle, 0);
    expect(await receiveBodies(queue)).toEqual(['a']);
  });

  it('cannot change its visibility timeout once it is visible or deleted', async () => {
    const { clock, queue, handle } = await received();
    clock.advance(30);
    expect(() => queue.changeVisibility(handle, 5)).toThrow('not in flight');
    queue.delete(handle);
    expect(() => queue.changeVisibility(handle, 5)).toThrow('does not exist');
  });
});

describe('deleting a message', () => {
  it('has no effect with the handle of an earlier receive', async () => {
    const { clock, queue, handle } = await received();
    clock.advance(30);
    await receiveOne(queue);
    queue.delete(handle);
    clock.advance(30);
    expect(await receiveBodies(queue)).toEqual(['a']);
  });

  it('fails with an invalid receipt handle or one of another queue', async () => {
    const clock = new ManualClock();
    const other = queueOf(clock, { name: 'other' });
    other.send(message('a'));
    const { handle } = await receiveOne(other);
    const queue = queueOf(clock);
    expect(() => queue.delete('nonsense')).toThrow('receipt handle is invalid');
    expect(() => queue.delete(handle)).toThrow('receipt handle is invalid');
  });
});

it('a queue with a retention period removes a message in any state when the retention period ends', async () => {
  const clock = new ManualClock();
  const queue = queueOf(clock, { retentionSeconds: 60, visibilitySeconds: 1000 });
  queue.send(message('in flight'));
  await receiveOne(queue);
  queue.send(message('visible'));
  queue.send(message('delayed'), 900);
  expect(queue.counts).toMatchObject({ visible: 1, delayed: 1, inFlight: 1 });
  clock.advance(60);
  expect(queue.counts).toMatchObject({ visible: 0, delayed: 0, inFlight: 0 });
  expect(queue.messages).toEqual([]);
});

describe('a queue with a redrive policy', () => {
  it('moves a message at maxReceiveCount with its ID, age and receive count', async () => {
    const { clock, queue, deadLetterQueue } = queueWithDeadLetters(2);
    const id = queue.send(message('a', 'tenant'));
    const sentAtMs = clock.now();
    await receiveOne(queue);
    clock.advance(30);
    await receiveOne(queue);
    clock.advance(30);
    expect(deadLetterQueue.messages).toEqual([]);
    expect(await receiveBodies(queue)).toEqual([]);
    expect(deadLetterQueue.messages).toMatchObject([
      { id, body: 'a', groupId: 'tenant', sentAtMs, receiveCount: 2, deadLetterQueueSourceArn: queue.settings.arn },
    ]);
    expect(await receiveBodies(deadLetterQueue)).toEqual(['a']);
  });

  it('counts the retention period of a dead letter from its original send time', async () => {
    const { clock, queue, deadLetterQueue } = queueWithDeadLetters(1);
    queue.send(message('a'));
    await receiveOne(queue);
    clock.advance(3 * 86_400);
    await receiveBodies(queue);
    expect(deadLetterQueue.messages).toHaveLength(1);
    clock.advance(11 * 86_400);
    expect(deadLetterQueue.messages).toEqual([]);
  });

  it('returns the next message when one moves to the dead-letter queue', async () => {
    const { clock, queue, deadLetterQueue } = queueWithDeadLetters(1);
    queue.send(message('old'));
    await receiveOne(queue);
    queue.send(message('new'));
    clock.advance(30);
    expect(await receiveBodies(queue)).toEqual(['new']);
    expect(await receiveBodies(deadLetterQueue)).toEqual(['old']);
  });
});

describe('the age of the oldest message', () => {
  it('counts from the send time, whether the message is delayed, visible or in flight', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('delayed'), 20);
    clock.advance(10);
    expect(queue.ageOfOldestMessageSeconds()).toBe(10);
    clock.advance(15);
    expect(queue.ageOfOldestMessageSeconds()).toBe(25);
    await receiveOne(queue);
    clock.advance(5);
    expect(queue.ageOfOldestMessageSeconds()).toBe(30);
  });

  it('ignores a message from its third receive on', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('received three times'));
    for (const receiveCount of [1, 2]) {
      expect((await receiveOne(queue)).message.receiveCount).toBe(receiveCount);
      clock.advance(30);
    }
    expect(queue.ageOfOldestMessageSeconds()).toBe(60);
    await receiveOne(queue);
    expect(queue.ageOfOldestMessageSeconds()).toBeUndefined();
    queue.send(message('next'));
    clock.advance(7);
    expect(queue.ageOfOldestMessageSeconds()).toBe(7);
  });

  it('restarts in a dead-letter queue, without earlier receives', async () => {
    const { clock, queue, deadLetterQueue } = queueWithDeadLetters(3);
    queue.send(message('a'));
    for (let receive = 1; receive <= 3; receive += 1) {
      await receiveOne(queue);
      clock.advance(30);
    }
    expect(await receiveBodies(queue)).toEqual([]);
    expect(deadLetterQueue.ageOfOldestMessageSeconds()).toBe(0);
    clock.advance(12);
    expect(deadLetterQueue.ageOfOldestMessageSeconds()).toBe(12);
    expect(deadLetterQueue.messages[0]?.sentAtMs).toBe(clock.now() - 102_000);
  });
});

it('message groups take turns, and a message without a group is one of its own', async () => {
  const queue = queueOf(new ManualClock());
  for (let n = 0; n < 20; n += 1) queue.send(message(`noisy ${n}`, 'noisy'));
  expect(await receiveBodies(queue)).toHaveLength(10);
  for (const body of ['quiet 0', 'quiet 1']) queue.send(message(body, 'quiet'));
  for (const body of ['single 0', 'single 1']) queue.send(message(body));
  expect(await receiveBodies(queue, 6)).toEqual(['noisy 10', 'quiet 0', 'single 0', 'single 1', 'noisy 11', 'quiet 1']);
});

describe('a long poll', () => {
  it('returns messages sent together in one response', async () => {
    const queue = queueOf(new ManualClock());
    const received = queue.receive({ maxMessages: 10, waitSeconds: 20 });
    for (const body of ['a', 'b', 'c']) queue.send(message(body));
    expect(await received).toHaveLength(3);
  });

  it('returns no messages when the wait ends', async () => {
    const clock = new ManualClock();
    const received = queueOf(clock).receive({ maxMessages: 10, waitSeconds: 20 });
    clock.advance(20);
    expect(await received).toEqual([]);
  });
});

it('a queue delivers duplicates if a test enables them, and deletes by the newest handle only', async () => {
  const clock = new ManualClock();
  const queue = queueOf(clock, {}, { duplicateReceives: 0.3, random: () => 0.1 });
  queue.send(message('a'));
  const first = await receiveOne(queue);
  const second = await receiveOne(queue);
  expect(second.message.id).toBe(first.message.id);
  queue.delete(first.handle);
  expect(queue.messages).toHaveLength(1);
  queue.delete(second.handle);
  expect(queue.messages).toHaveLength(0);
});
