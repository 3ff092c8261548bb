import { describe, expect, it } from 'vitest';
import { ManualClock } from '../support/manual-clock.ts';
import { message, queueOf, queueWithDeadLetters, receiveBodies, receiveOne } from '../support/queues.ts';

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

describe('the totals of a queue', () => {
  it('count sends, receives, deletions and empty receives', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    for (const body of ['a', 'b']) queue.send(message(body));
    await queue.receive({ maxMessages: 10 });
    clock.advance(30);
    const [first] = await queue.receive({ maxMessages: 10 });
    if (!first) throw new Error('Nothing was received.');
    queue.delete(first.handle);
    queue.delete(first.handle);
    expect(await queue.receive({ maxMessages: 1 })).toEqual([]);
    expect(queue.totals).toEqual({ sent: 2, received: 4, deleted: 2, emptyReceives: 1 });
  });
});
