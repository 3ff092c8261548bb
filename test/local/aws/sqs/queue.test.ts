import { describe, expect, it } from 'vitest';
import { ManualClock } from '../support/manual-clock.ts';
import { message, queueOf, queueWithDeadLetters, receiveBodies, receiveOne } from '../support/queues.ts';

describe('visibility', () => {
  it('hides a received message until its visibility timeout expires', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock, { visibilitySeconds: 30 });
    queue.send(message('a'));
    expect(await receiveBodies(queue)).toEqual(['a']);
    clock.advance(29);
    expect(await receiveBodies(queue)).toEqual([]);
    clock.advance(1);
    expect(await receiveBodies(queue)).toEqual(['a']);
  });

  it('counts receives and records the time of the first', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('a'));
    const start = clock.now();
    expect((await receiveOne(queue)).message.receiveCount).toBe(1);
    clock.advance(30);
    const second = await receiveOne(queue);
    expect(second.message).toMatchObject({ receiveCount: 2, firstReceivedAtMs: start });
  });

  it('extends and ends a visibility timeout on request', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('a'));
    const { handle } = await receiveOne(queue);
    queue.changeVisibility(handle, 100);
    clock.advance(99);
    expect(await receiveBodies(queue)).toEqual([]);
    queue.changeVisibility(handle, 0);
    expect(await receiveBodies(queue)).toEqual(['a']);
  });

  it('rejects a visibility change of a message that is visible or deleted', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('a'));
    const { handle } = await receiveOne(queue);
    clock.advance(30);
    expect(() => queue.changeVisibility(handle, 5)).toThrow('not in flight');
    queue.delete(handle);
    expect(() => queue.changeVisibility(handle, 5)).toThrow('does not exist');
  });
});

describe('deletion', () => {
  it('succeeds for a message that is already deleted', async () => {
    const queue = queueOf(new ManualClock());
    queue.send(message('a'));
    const { handle } = await receiveOne(queue);
    queue.delete(handle);
    expect(() => queue.delete(handle)).not.toThrow();
  });

  it('works after the visibility timeout if the message was not received again', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('a'));
    const { handle } = await receiveOne(queue);
    clock.advance(30);
    queue.delete(handle);
    expect(await receiveBodies(queue)).toEqual([]);
  });

  it('has no effect with the handle of an earlier receive', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('a'));
    const { handle } = await receiveOne(queue);
    clock.advance(30);
    await receiveOne(queue);
    queue.delete(handle);
    clock.advance(30);
    expect(await receiveBodies(queue)).toEqual(['a']);
  });

  it('rejects invalid receipt handles and those of another queue', async () => {
    const clock = new ManualClock();
    const other = queueOf(clock, { name: 'other' });
    other.send(message('a'));
    const { handle } = await receiveOne(other);
    const queue = queueOf(clock);
    expect(() => queue.delete('nonsense')).toThrow('receipt handle is invalid');
    expect(() => queue.delete(handle)).toThrow('receipt handle is invalid');
  });
});

describe('delay and retention', () => {
  it('shows a delayed message when its delay ends; its delay overrides that of the queue', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock, { delaySeconds: 60 });
    queue.send(message('queue delay'));
    queue.send(message('10 s delay'), 10);
    queue.send(message('no delay'), 0);
    expect(await receiveBodies(queue)).toEqual(['no delay']);
    clock.advance(10);
    expect(await receiveBodies(queue)).toEqual(['10 s delay']);
    clock.advance(50);
    expect(await receiveBodies(queue)).toContain('queue delay');
  });

  it('removes a message when its retention period ends, in any state', async () => {
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
});

describe('redrive', () => {
  it('moves a message at maxReceiveCount with its id, age and receive count', async () => {
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

  it('counts the retention period of a dead letter from its first send', async () => {
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

describe('long polling', () => {
  it('returns as soon as a message is visible', async () => {
    const queue = queueOf(new ManualClock());
    const received = queue.receive({ maxMessages: 10, waitSeconds: 20 });
    queue.send(message('a'));
    expect(await received).toHaveLength(1);
  });

  it('returns messages that were sent together to one receiver', async () => {
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

  it('returns no messages to an aborted receive', async () => {
    const queue = queueOf(new ManualClock());
    const controller = new AbortController();
    const received = queue.receive({ maxMessages: 10, waitSeconds: 20, signal: controller.signal });
    controller.abort();
    queue.send(message('a'));
    expect(await received).toEqual([]);
    expect(queue.counts.visible).toBe(1);
  });

  it('serves waiting receives in their order of arrival', async () => {
    const queue = queueOf(new ManualClock());
    const first = queue.receive({ maxMessages: 1, waitSeconds: 20 });
    const second = queue.receive({ maxMessages: 1, waitSeconds: 20 });
    queue.send(message('a'));
    queue.send(message('b'));
    expect((await first)[0]?.message.body).toBe('a');
    expect((await second)[0]?.message.body).toBe('b');
  });

  it('returns when a message in flight becomes visible again', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('a'));
    await receiveOne(queue);
    const received = queue.receive({ maxMessages: 1, waitSeconds: 20 });
    clock.advance(20);
    expect(await received).toEqual([]);
    const next = queue.receive({ maxMessages: 1, waitSeconds: 20 });
    clock.advance(10);
    expect(await next).toHaveLength(1);
  });
});

describe('queues', () => {
  it('deliver duplicates on request, both of which can be deleted', async () => {
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

  it('reject receives while 120,000 messages are in flight', async () => {
    const queue = queueOf({ now: Date.now, after: () => () => {} });
    for (let n = 0; n < 120_001; n += 1) queue.send(message('a'));
    expect(await receiveBodies(queue, 120_000)).toHaveLength(120_000);
    await expect(queue.receive({ maxMessages: 1 })).rejects.toThrow('Too many messages in flight');
  });

  it('delete all messages when purged', async () => {
    const queue = queueOf(new ManualClock());
    queue.send(message('a'));
    queue.send(message('b'), 100);
    await receiveOne(queue);
    queue.purge();
    expect(queue.counts).toMatchObject({ visible: 0, delayed: 0, inFlight: 0 });
  });
});
