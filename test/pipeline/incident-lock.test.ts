import { SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createFailedMessages } from '../../shared/adapters/deliveries/failed-messages.ts';
import { logger } from '../../shared/adapters/logger.ts';
import { createQueues } from '../../shared/adapters/queues.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { claimedRecord, withStatus } from '../../shared/domain/delivery-record.ts';
import { claimedLock } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createJob, type DeliveryJob, type SenderDependencies } from '../../shared/pipeline/sender/delivery-job.ts';
import { deliverInOrder } from '../../shared/pipeline/sender/incident-lock.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent } from '../support/events.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();

beforeEach(() => {
  for (const level of ['warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

const deliveries = createDeliveryRepository(client, 'deliveries');

const NOW_MS = Date.UTC(2026, 0, 1);
const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };

const sqsInput = z.object({
  QueueUrl: z.string(),
  VisibilityTimeout: z.optional(z.number()),
  Entries: z
    .array(
      z.object({
        DelaySeconds: z.number(),
        MessageAttributes: z.record(z.string(), z.object({ StringValue: z.string() })),
      }),
    )
    .default([]),
});

type SentMessage = { queue: string; delaySeconds: number; waitCount: string | undefined; isOlder: boolean };

/** Sets up the incident pager's sender for one notification, with an SQS client that records the requests. */
const setUp = ({
  timeLeftMs = 30_000,
  outcome = delivered,
}: {
  timeLeftMs?: number;
  outcome?: AttemptOutcome;
} = {}) => {
  const sqs = new SQSClient({ region: 'local-1', credentials: { accessKeyId: 'none', secretAccessKey: 'none' } });
  const sent: SentMessage[] = [];
  const visibilityTimeouts: number[] = [];
  let requestCount = 0;
  sqs.middlewareStack.add(
    () => async (args) => {
      requestCount++;
      const { QueueUrl, VisibilityTimeout, Entries } = sqsInput.parse(args.input);
      if (VisibilityTimeout !== undefined) visibilityTimeouts.push(VisibilityTimeout);
      sent.push(
        ...Entries.map(({ DelaySeconds, MessageAttributes }) => ({
          queue: QueueUrl,
          delaySeconds: DelaySeconds,
          waitCount: MessageAttributes.lock_wait_count?.StringValue,
          isOlder: MessageAttributes.newer_event_waits !== undefined,
        })),
      );
      return { response: {}, output: { $metadata: {} } };
    },
    { step: 'initialize', priority: 'high' },
  );
  const transport = vi.fn<SenderDependencies['transport']>(async () => outcome);
  const dependencies: SenderDependencies = {
    type: 'incidentpager',
    transport,
    deliveries,
    failedMessages: createFailedMessages(client, 'deliveries'),
    queues: createQueues(sqs, () => NOW_MS),
    queueUrls: senderQueueUrls,
    retryQueueUrl: queueUrl('incidentpager-Retries'),
    deadLetterQueueUrl: queueUrl('incidentpager-DeadLetters'),
    retryDelayScale: 1,
    reports: { reportFailure: async () => undefined, escalateUnreached: async () => undefined },
    clock: () => NOW_MS,
    isTenantThrottled: () => false,
  };
  const notificationId = newNotificationId();
  const job = (
    eventTimeMs: number,
    queueName = 'incidentpager',
    attributes: Record<string, string> = {},
  ): DeliveryJob => {
    const event = alarmEvent({ event_id: `e${eventTimeMs}`, details: { state: 'CRITICAL', timestamp: eventTimeMs } });
    return createJob({
      dependencies,
      message: sqsMessage({
        messageId: `m${eventTimeMs}`,
        body: `body ${eventTimeMs}`,
        eventSourceARN: `arn:aws:sqs:local-1:1:${queueName}`,
        messageAttributes: Object.fromEntries(
          Object.entries(attributes).map(([name, stringValue]) => [name, { stringValue, dataType: 'Number' }]),
        ),
      }),
      body: { notification_id: notificationId, event, accepted_at_ms: eventTimeMs, content_hash: 'hash' },
      batch: { unsettled: 1 },
      timeLeft: () => timeLeftMs,
    });
  };
  const target = { id: notificationId, type: 'incidentpager', details: {} } as const;
  const run = (first: DeliveryJob, ...rest: DeliveryJob[]) => deliverInOrder([first, ...rest], Promise.resolve(target));
  const otherClaim = claimedLock(alarmEvent(), notificationId, 'other', NOW_MS);
  const outcomes = (results: Awaited<ReturnType<typeof run>>) => results.map(({ settled }) => settled.outcome);
  return { job, run, transport, sent, visibilityTimeouts, requestCount: () => requestCount, otherClaim, outcomes };
};

describe('delivery of the events of one incident', () => {
  it('delivers a batch under one lock, oldest event first, and records the newest in the lock', async () => {
    const { job, run, transport, otherClaim, outcomes } = setUp();
    expect(outcomes(await run(job(NOW_MS - 3), job(NOW_MS - 2), job(NOW_MS - 1)))).toEqual(Array(3).fill('delivered'));
    expect(transport.mock.calls.map(([{ eventTimeMs }]) => eventTimeMs)).toEqual([NOW_MS - 3, NOW_MS - 2, NOW_MS - 1]);
    expect(await deliveries.claimLock(otherClaim, NOW_MS)).toMatchObject({ newest_event_at_ms: NOW_MS - 1 });
  });

  it('supersedes an event that is older than the last delivered event', async () => {
    const { job, run, transport, outcomes } = setUp();
    await run(job(NOW_MS));
    expect(outcomes(await run(job(NOW_MS - 1)))).toEqual(['superseded']);
    expect(transport).toHaveBeenCalledTimes(1);
  });

  it.each(['incidentpager', 'incidentpager-Retries'])(
    'reschedules a message on its own queue if too little time is left: %s',
    async (name) => {
      const { job, run, transport, sent, outcomes } = setUp({ timeLeftMs: 16_999 });
      expect(outcomes(await run(job(NOW_MS, name)))).toEqual(['busy']);
      expect(sent).toEqual([{ queue: queueUrl(name), delaySeconds: 2, waitCount: '1', isOlder: false }]);
      expect(transport).not.toHaveBeenCalled();
    },
  );

  it('reschedules a batch in one request while another worker holds the lock, with short waits for the newest event only', async () => {
    const { job, run, transport, sent, requestCount, otherClaim, outcomes } = setUp();
    await deliveries.claimLock(otherClaim, NOW_MS);
    const attributes = { lock_wait_count: '5' };
    const [first = job(NOW_MS), ...rest] = [NOW_MS - 3, NOW_MS - 2, NOW_MS - 1].map((eventTimeMs) =>
      job(eventTimeMs, 'incidentpager', attributes),
    );
    expect(outcomes(await run(first, ...rest))).toEqual(['busy', 'busy', 'busy']);
    expect(sent.map(({ delaySeconds, waitCount, isOlder }) => [delaySeconds, waitCount, isOlder])).toEqual([
      [900, '6', true],
      [900, '6', true],
      [35, '6', false],
    ]);
    expect(requestCount()).toBe(1);
    expect(transport).not.toHaveBeenCalled();
  });

  it('reschedules an older event with long waits if a newer event waits in another batch', async () => {
    const { job, run, sent, otherClaim } = setUp();
    await deliveries.claimLock(otherClaim, NOW_MS);
    await run(job(NOW_MS));
    await run(job(NOW_MS - 1, 'incidentpager', { lock_wait_count: '3' }));
    expect(sent.map(({ delaySeconds, isOlder }) => [delaySeconds, isOlder])).toEqual([
      [2, false],
      [128, true],
    ]);
  });

  it('reschedules all events and releases the lock if the circuit is open', async () => {
    const circuitOpen = failed('throttled', 'circuit_open', '', { countsAsAttempt: false, retryAfterMs: 30_000 });
    const { job, run, transport, sent, otherClaim, outcomes } = setUp({ outcome: circuitOpen });
    const [older, newest] = [job(NOW_MS - 1), job(NOW_MS)];
    expect(outcomes(await run(older, newest))).toEqual(['busy', 'busy']);
    expect(transport).toHaveBeenCalledTimes(1);
    expect(sent).toHaveLength(2);
    expect(await deliveries.claimLock(otherClaim, NOW_MS)).toMatchObject({ newest_event_at_ms: 0 });
  });

  it('reports an alert whose circuit stays open before its wait for the lock exceeds five minutes', async () => {
    const circuitOpen = failed('throttled', 'circuit_open', '', { countsAsAttempt: false, retryAfterMs: 30_000 });
    const { job, run, outcomes } = setUp({ outcome: circuitOpen });
    const waiting = job(NOW_MS, 'incidentpager-Retries', { lock_wait_count: '4' });
    const started = claimedRecord(waiting.body, 'earlier', NOW_MS - 230_000);
    await deliveries.claim(started, NOW_MS - 230_000);
    await deliveries.update(started, { ...started, lease_until_ms: 0 });
    const results = await run(waiting);
    expect(outcomes(results)).toEqual(['busy']);
    const record = await deliveries.read(started);
    // The wait is 35 s, and the batching window and the timeout of the next attempt follow.
    expect(record).toMatchObject({ status: 'pending', next_attempt_at_ms: NOW_MS + 35_000 });
    expect(results[0]?.settled.failing).toEqual(record);
  });

  it('keeps the lock and returns the message if the lock cannot be advanced after a delivery', async () => {
    const { job, run, transport, visibilityTimeouts, outcomes } = setUp();
    const working = job(NOW_MS);
    let timeLeftMs = 30_000;
    const failing: DeliveryJob = {
      ...working,
      timeLeft: () => timeLeftMs,
      dependencies: {
        ...working.dependencies,
        transport: (...args) => {
          timeLeftMs = 12_000;
          return transport(...args);
        },
        deliveries: {
          ...deliveries,
          advanceAndReleaseLock: async () => {
            throw new Error('no response');
          },
        },
      },
    };
    expect(outcomes(await run(failing))).toEqual(['internal_error']);
    expect(visibilityTimeouts).toEqual([2]);
    expect(outcomes(await run(job(NOW_MS - 1)))).toEqual(['busy']);
    expect(transport).toHaveBeenCalledTimes(1);
  });

  it('advances the lock before it records the delivery', async () => {
    const { job, run } = setUp();
    const writes: string[] = [];
    const watched = (eventTimeMs: number): DeliveryJob => {
      const original = job(eventTimeMs);
      return {
        ...original,
        dependencies: {
          ...original.dependencies,
          deliveries: {
            ...deliveries,
            advanceLock: (...args) => {
              writes.push('advance');
              return deliveries.advanceLock(...args);
            },
            advanceAndReleaseLock: (...args) => {
              writes.push('advance and release');
              return deliveries.advanceAndReleaseLock(...args);
            },
            complete: (record) => {
              writes.push(record.status);
              return deliveries.complete(record);
            },
          },
        },
      };
    };
    await run(watched(NOW_MS - 1), watched(NOW_MS));
    expect(writes).toEqual(['advance', 'delivered', 'advance and release', 'delivered']);
  });

  it('continues with the next event after an internal error', async () => {
    const { job, run, transport, visibilityTimeouts, otherClaim, outcomes } = setUp();
    transport.mockRejectedValueOnce(new Error('no response'));
    expect(outcomes(await run(job(NOW_MS - 1), job(NOW_MS)))).toEqual(['internal_error', 'delivered']);
    expect(visibilityTimeouts).toEqual([2]);
    expect(await deliveries.claimLock(otherClaim, NOW_MS)).toMatchObject({ newest_event_at_ms: NOW_MS });
  });

  it('advances the lock for a duplicate of a delivered event, because its worker may have crashed before it did so', async () => {
    const { job, run, otherClaim, outcomes } = setUp();
    await deliveries.complete(withStatus(claimedRecord(job(NOW_MS).body, 'crashed', NOW_MS), 'delivered', NOW_MS));
    expect(outcomes(await run(job(NOW_MS)))).toEqual(['duplicate']);
    expect(await deliveries.claimLock(otherClaim, NOW_MS)).toMatchObject({ newest_event_at_ms: NOW_MS });
  });

  it('reschedules older events with long waits if the circuit is open', async () => {
    const circuitOpen = failed('throttled', 'circuit_open', '', { countsAsAttempt: false, retryAfterMs: 30_000 });
    const { job, run, sent } = setUp({ outcome: circuitOpen });
    await run(job(NOW_MS));
    await run(job(NOW_MS - 1));
    await run(job(NOW_MS - 2, 'incidentpager', { lock_wait_count: '9' }));
    expect(sent.map(({ isOlder, delaySeconds }) => [isOlder, delaySeconds])).toEqual([
      [false, 2],
      [true, 2],
      [true, 900],
    ]);
  });

  it('returns the message if earlier calls leave too little time for the send', async () => {
    const { job, run, visibilityTimeouts, outcomes } = setUp();
    let calls = 0;
    const slow: DeliveryJob = { ...job(NOW_MS), timeLeft: () => (calls++ < 3 ? 18_000 : 12_000) };
    expect(outcomes(await run(slow))).toEqual(['internal_error']);
    expect(visibilityTimeouts).toEqual([2]);
  });
});
