import { describe, expect, it } from 'vitest';
import { ManualClock } from '../support/manual-clock.ts';
import { message, queueOf, receiveBodies } from '../support/queues.ts';

describe('message groups', () => {
  it('with few messages in flight go before groups with many', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 20; n += 1) queue.send(message(`noisy ${n}`, 'noisy'));
    expect(await receiveBodies(queue)).toHaveLength(10);
    queue.send(message('quiet 0', 'quiet'));
    queue.send(message('quiet 1', 'quiet'));
    expect(await receiveBodies(queue, 3)).toEqual(['quiet 0', 'quiet 1', 'noisy 10']);
  });

  it('with equal numbers in flight take turns and keep their order', async () => {
    const queue = queueOf(new ManualClock());
    for (const group of ['a', 'b']) for (const n of [0, 1, 2]) queue.send(message(`${group}${n}`, group));
    expect(await receiveBodies(queue)).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2']);
  });

  it('no longer count a message in flight once it is deleted', async () => {
    const queue = queueOf(new ManualClock());
    for (const body of ['a', 'b']) queue.send(message(body, 'busy'));
    const receipts = await queue.receive({ maxMessages: 2 });
    queue.send(message('c', 'busy'));
    for (const body of ['d', 'e', 'f']) queue.send(message(body, 'other'));
    for (const { handle } of receipts) queue.delete(handle);
    expect(await receiveBodies(queue, 2)).toContain('c');
  });

  it('are received in order, even with 5,000 messages', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 5000; n += 1) queue.send({ ...message(String(n)), groupId: 'g' }, 0);
    for (let received = 0; received < 5000; received += 10) {
      const bodies = await receiveBodies(queue);
      expect(bodies[0]).toBe(String(received));
    }
  });
});

describe('messages without a group', () => {
  it('count as separate tenants', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 12; n += 1) queue.send(message(`ungrouped ${n}`));
    expect(await receiveBodies(queue)).toHaveLength(10);
    queue.send(message('grouped', 'quiet'));
    expect(await receiveBodies(queue, 2)).toEqual(['ungrouped 10', 'ungrouped 11']);
  });

  it('go before further messages of a group with messages in flight', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 3; n += 1) queue.send(message(`grouped ${n}`, 'tenant'));
    for (let n = 0; n < 3; n += 1) queue.send(message(`ungrouped ${n}`));
    expect(await receiveBodies(queue)).toEqual([
      'grouped 0',
      'ungrouped 0',
      'ungrouped 1',
      'ungrouped 2',
      'grouped 1',
      'grouped 2',
    ]);
  });

  it('are received in order, even 5,000 of them', async () => {
    const queue = queueOf(new ManualClock());
    for (let n = 0; n < 5000; n += 1) queue.send(message(String(n)), 0);
    for (let received = 0; received < 5000; received += 10) {
      expect((await receiveBodies(queue))[0]).toBe(String(received));
    }
  });
});
