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

  it('no longer count a message in flight once it is deleted', async () => {
    const queue = queueOf(new ManualClock());
    for (const body of ['a', 'b']) queue.send(message(body, 'busy'));
    const receipts = await queue.receive({ maxMessages: 2 });
    queue.send(message('c', 'busy'));
    for (const body of ['d', 'e', 'f']) queue.send(message(body, 'other'));
    for (const { handle } of receipts) queue.delete(handle);
    expect(await receiveBodies(queue, 2)).toContain('c');
  });
});

describe('messages without a group', () => {
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
});
