import { describe, expect, it } from 'vitest';
import { QueueSampler, type SampledQueue } from './queue-sampler.ts';
import { sampledQueue as queue } from './sampled-queue.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const values = (sampler: QueueSampler, sampled: SampledQueue, atMs: number) =>
  Object.fromEntries(sampler.sample(sampled, atMs).map(({ metric, value }) => [metric.name, value]));

const oneMessage = queue({ counts: { visible: 1, delayed: 0, inFlight: 0 }, ageOfOldestMessageSeconds: () => 30 });

describe('the metrics of a queue', () => {
  it('report its messages and the sends, receives and deletions of the minute', () => {
    const sampler = new QueueSampler();
    const polled = { pendingReceives: 1 };
    sampler.sample(queue({ ...polled, totals: { sent: 5, received: 3, deleted: 1, emptyReceives: 1 } }), 0);
    const later = queue({
      ...polled,
      counts: { visible: 1, delayed: 2, inFlight: 3 },
      totals: { sent: 9, received: 6, deleted: 3, emptyReceives: 1 },
      ageOfOldestMessageSeconds: () => 42,
    });
    expect(values(sampler, later, MINUTE)).toEqual({
      ApproximateNumberOfMessagesVisible: 1,
      ApproximateNumberOfMessagesDelayed: 2,
      ApproximateNumberOfMessagesNotVisible: 3,
      ApproximateAgeOfOldestMessage: 42,
      NumberOfMessagesSent: 4,
      NumberOfMessagesReceived: 3,
      NumberOfMessagesDeleted: 2,
      NumberOfEmptyReceives: 0,
    });
  });

  it('have no age of the oldest message while there is none', () => {
    expect(values(new QueueSampler(), queue({ pendingReceives: 1 }), 0)).not.toHaveProperty(
      'ApproximateAgeOfOldestMessage',
    );
  });

  it('stop six hours after the last use, even if the queue contains a message', () => {
    const sampler = new QueueSampler(new Set());
    sampler.sample(oneMessage, 24 * HOUR);
    expect(values(sampler, oneMessage, 30 * HOUR)).toMatchObject({ ApproximateNumberOfMessagesVisible: 1 });
    expect(values(sampler, oneMessage, 30 * HOUR + MINUTE)).toEqual({});
  });

  it('resume 15 minutes after an inactive queue is used', () => {
    const sampler = new QueueSampler();
    expect(values(sampler, queue(), 24 * HOUR)).toEqual({});
    expect(values(sampler, oneMessage, 24 * HOUR + MINUTE)).toEqual({});
    expect(values(sampler, oneMessage, 24 * HOUR + 15 * MINUTE)).toEqual({});
    expect(values(sampler, oneMessage, 24 * HOUR + 16 * MINUTE)).toMatchObject({
      ApproximateNumberOfMessagesVisible: 1,
    });
  });

  it('never stop while API calls keep the queue active', () => {
    const sampler = new QueueSampler(new Set(['q']));
    expect(values(sampler, oneMessage, 0)).toMatchObject({ ApproximateNumberOfMessagesVisible: 1 });
    expect(values(sampler, oneMessage, 48 * HOUR)).toMatchObject({ ApproximateNumberOfMessagesVisible: 1 });
  });
});
