import { describe, expect, it } from 'vitest';
import { ManualClock } from './support/manual-clock.ts';
import { message, queueOf, queueWithDeadLetters, receiveBodies, receiveOne } from './support/queues.ts';

describe('visibility', () => {
  it('hides a received message until its visibility timeout is over', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock, { visibilitySeconds: 30 });
    queue.send(message('a'));
    expect(await receiveBodies(queue)).toEqual(['a']);
    clock.advance(29);
    expect(await receiveBodies(queue)).toEqual([]);
    clock.advance(1);
    expect(await receiveBodies(queue)).toEqual(['a']);
  });

  it('counts every receive and keeps the time of the first', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('a'));
    const start = clock.now();
    expect((await receiveOne(queue)).message.receiveCount).toBe(1);
    clock.advance(30);
    const second = await receiveOne(queue);
    expect(second.message).toMatchObject({ receiveCount: 2, firstReceivedAtMs: start });
  });

  it('lets a receiver prolong and end the visibility timeout of its message', async () => {
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

  it('refuses to change the visibility of a message that is not in flight, or gone', async () => {
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
  it('succeeds for a message that is gone already', async () => {
    const queue = queueOf(new ManualClock());
    queue.send(message('a'));
    const { handle } = await receiveOne(queue);
    queue.delete(handle);
    expect(() => queue.delete(handle)).not.toThrow();
  });

  it('still works after the visibility timeout, as long as nobody else received the message', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock);
    queue.send(message('a'));
    const { handle } = await receiveOne(queue);
    clock.advance(30);
    queue.delete(handle);
    expect(await receiveBodies(queue)).toEqual([]);
  });

  it('does nothing with the handle of an earlier receive', async () => {
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

  it('refuses what is no receipt handle, and that of another queue', async () => {
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
  it('shows a delayed message when its delay is over, which overrides the delay of the queue', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock, { delaySeconds: 60 });
    queue.send(message('as the queue says'));
    queue.send(message('sooner'), 10);
    queue.send(message('at once'), 0);
    expect(await receiveBodies(queue)).toEqual(['at once']);
    clock.advance(10);
    expect(await receiveBodies(queue)).toEqual(['sooner']);
    clock.advance(50);
    expect(await receiveBodies(queue)).toContain('as the queue says');
  });

  it('drops a message when its retention is over, wherever it is', async () => {
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
  it('moves a message that would be received too often, with its id, its age and its count', async () => {
    const { clock, queue, dead } = queueWithDeadLetters(2);
    const id = queue.send(message('a', 'tenant'));
    const sentAt = clock.now();
    await receiveOne(queue);
    clock.advance(30);
    await receiveOne(queue);
    clock.advance(30);
    expect(dead.messages).toEqual([]);
    expect(await receiveBodies(queue)).toEqual([]);
    expect(dead.messages).toMatchObject([
      { id, body: 'a', groupId: 'tenant', sentAt, receiveCount: 2, deadLetterQueueSourceArn: queue.settings.arn },
    ]);
    expect(await receiveBodies(dead)).toEqual(['a']);
  });

  it('keeps a dead letter only for what is left of its life, counted from when it was first sent', async () => {
    const { clock, queue, dead } = queueWithDeadLetters(1);
    queue.send(message('a'));
    await receiveOne(queue);
    clock.advance(3 * 86_400);
    await receiveBodies(queue);
    expect(dead.messages).toHaveLength(1);
    clock.advance(11 * 86_400);
    expect(dead.messages).toEqual([]);
  });

  it('goes on to the next message when one dies', async () => {
    const { clock, queue, dead } = queueWithDeadLetters(1);
    queue.send(message('old'));
    await receiveOne(queue);
    queue.send(message('new'));
    clock.advance(30);
    expect(await receiveBodies(queue)).toEqual(['new']);
    expect(await receiveBodies(dead)).toEqual(['old']);
  });
});

describe('long polling', () => {
  it('answers as soon as a message comes', async () => {
    const queue = queueOf(new ManualClock());
    const received = queue.receive({ maxMessages: 10, waitSeconds: 20 });
    queue.send(message('a'));
    expect(await received).toHaveLength(1);
  });

  it('hands messages that were sent together to one receiver', async () => {
    const queue = queueOf(new ManualClock());
    const received = queue.receive({ maxMessages: 10, waitSeconds: 20 });
    for (const body of ['a', 'b', 'c']) queue.send(message(body));
    expect(await received).toHaveLength(3);
  });

  it('answers with nothing when the wait is over', async () => {
    const clock = new ManualClock();
    const received = queueOf(clock).receive({ maxMessages: 10, waitSeconds: 20 });
    clock.advance(20);
    expect(await received).toEqual([]);
  });

  it('gives nothing to someone who has left', async () => {
    const queue = queueOf(new ManualClock());
    const controller = new AbortController();
    const received = queue.receive({ maxMessages: 10, waitSeconds: 20, signal: controller.signal });
    controller.abort();
    queue.send(message('a'));
    expect(await received).toEqual([]);
    expect(queue.counts.visible).toBe(1);
  });

  it('serves those who wait in the order in which they came', async () => {
    const queue = queueOf(new ManualClock());
    const first = queue.receive({ maxMessages: 1, waitSeconds: 20 });
    const second = queue.receive({ maxMessages: 1, waitSeconds: 20 });
    queue.send(message('a'));
    queue.send(message('b'));
    expect((await first)[0]?.message.body).toBe('a');
    expect((await second)[0]?.message.body).toBe('b');
  });

  it('also ends when a hidden message comes back', async () => {
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

describe('fairness among message groups', () => {
  it('prefers a quiet group to one that has much in flight', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 20; n += 1) queue.send(message(`noisy ${n}`, 'noisy'));
    expect(await receiveBodies(queue)).toHaveLength(10);
    queue.send(message('quiet 0', 'quiet'));
    queue.send(message('quiet 1', 'quiet'));
    expect(await receiveBodies(queue, 3)).toEqual(['quiet 0', 'quiet 1', 'noisy 10']);
  });

  it('takes turns among groups with the same share, and keeps the order within each', async () => {
    const queue = queueOf(new ManualClock());
    for (const group of ['a', 'b']) for (const n of [0, 1, 2]) queue.send(message(`${group}${n}`, group));
    expect(await receiveBodies(queue)).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2']);
  });

  it('forgets what a group had in flight once it is deleted', async () => {
    const queue = queueOf(new ManualClock());
    for (const body of ['a', 'b']) queue.send(message(body, 'busy'));
    const taken = await queue.receive({ maxMessages: 2 });
    queue.send(message('c', 'busy'));
    for (const body of ['d', 'e', 'f']) queue.send(message(body, 'other'));
    for (const { handle } of taken) queue.delete(handle);
    expect(await receiveBodies(queue, 2)).toContain('c');
  });

  it('stays quick with many messages in one group', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 5000; n += 1) queue.send({ ...message(String(n)), groupId: 'g' }, 0);
    for (let received = 0; received < 5000; received += 10) {
      const bodies = await receiveBodies(queue);
      expect(bodies[0]).toBe(String(received));
    }
  });
});

describe('messages without a group', () => {
  it('each count as a tenant of their own: none waits for another one in flight', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 12; n += 1) queue.send(message(`alone ${n}`));
    expect(await receiveBodies(queue)).toHaveLength(10);
    queue.send(message('grouped', 'quiet'));
    expect(await receiveBodies(queue, 2)).toEqual(['alone 10', 'alone 11']);
  });

  it('take their turn before the next messages of a group that already has some in flight', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 3; n += 1) queue.send(message(`grouped ${n}`, 'tenant'));
    for (let n = 0; n < 3; n += 1) queue.send(message(`alone ${n}`));
    expect(await receiveBodies(queue)).toEqual([
      'grouped 0',
      'alone 0',
      'alone 1',
      'alone 2',
      'grouped 1',
      'grouped 2',
    ]);
  });

  it('are received as quickly as those of one group', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 5000; n += 1) queue.send(message(String(n)), 0);
    for (let received = 0; received < 5000; received += 10) {
      expect((await receiveBodies(queue))[0]).toBe(String(received));
    }
  });
});

describe('the rest', () => {
  it('duplicates a received message on request, and then lives with deleting one of both', async () => {
    const clock = new ManualClock();
    const queue = queueOf(clock, {}, { duplicateReceives: 0.3, random: () => 0.1 });
    queue.send(message('a'));
    const first = await receiveOne(queue);
    const again = await receiveOne(queue);
    expect(again.message.id).toBe(first.message.id);
    queue.delete(first.handle);
    expect(queue.messages).toHaveLength(1);
    queue.delete(again.handle);
    expect(queue.messages).toHaveLength(0);
  });

  it('refuses receives when 120,000 messages are in flight', async () => {
    const queue = queueOf({ now: Date.now, after: () => () => {} });
    for (let n = 0; n < 120_001; n += 1) queue.send(message('a'));
    expect(await receiveBodies(queue, 120_000)).toHaveLength(120_000);
    await expect(queue.receive({ maxMessages: 1 })).rejects.toThrow('Too many messages in flight');
  });

  it('throws everything away when it is purged', async () => {
    const queue = queueOf(new ManualClock());
    queue.send(message('a'));
    queue.send(message('b'), 100);
    await receiveOne(queue);
    queue.purge();
    expect(queue.counts).toMatchObject({ visible: 0, delayed: 0, inFlight: 0 });
  });
});
