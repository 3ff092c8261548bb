import { SQSClient } from '@aws-sdk/client-sqs';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { logger } from '../../shared/adapters/logger.ts';
import { createQueues } from '../../shared/adapters/queues.ts';
import type { AlarmEvent, AlarmState } from '../../shared/contracts/alarm-event.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { claimedRecord, withStatus } from '../../shared/domain/delivery-record.ts';
import { compareEventTimes, isOlder } from '../../shared/domain/event-time.ts';
import { claimedLock } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createDeliver } from '../../shared/pipeline/sender/deliver.ts';
import { createJob, type DeliveryJob } from '../../shared/pipeline/sender/delivery-job.ts';
import type { SenderDependencies } from '../../shared/pipeline/sender/sender-dependencies.ts';
import { writeRecords } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent, alarmHeader, deliveryMessage, readDelivery } from '../support/events.ts';
import { queueUrl } from '../support/queue-urls.ts';
import { senderDependencies } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();

beforeEach(() => {
  for (const level of ['warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

const deliveries = createDeliveryRepository(client, 'deliveries');
const incidentLocks = createIncidentLocks(client, 'deliveries');

const NOW_MS = Date.UTC(2026, 0, 1);
const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };

const sqsInput = z.object({
  QueueUrl: z.string(),
  VisibilityTimeout: z.optional(z.number()),
  DelaySeconds: z.optional(z.number()),
  MessageAttributes: z.optional(z.record(z.string(), z.object({ StringValue: z.string() }))),
});

type SentMessage = { queue: string; delaySeconds: number; waitCount: string | undefined };

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
  sqs.middlewareStack.add(
    () => async (args) => {
      const { QueueUrl, VisibilityTimeout, DelaySeconds, MessageAttributes } = sqsInput.parse(args.input);
      if (VisibilityTimeout !== undefined) visibilityTimeouts.push(VisibilityTimeout);
      if (DelaySeconds !== undefined)
        sent.push({
          queue: QueueUrl,
          delaySeconds: DelaySeconds,
          waitCount: MessageAttributes?.lock_wait_count?.StringValue,
        });
      return { response: {}, output: { $metadata: {} } };
    },
    { step: 'initialize', priority: 'high' },
  );
  const transport = vi.fn<SenderDependencies['transport']>(async () => outcome);
  const dependencies = senderDependencies(client, {
    type: 'incidentpager',
    transport,
    queues: createQueues(sqs, () => NOW_MS),
    clock: () => NOW_MS,
  });
  const notificationId = newNotificationId();
  /** Creates the job of an event. */
  const jobOf = (
    event: AlarmEvent,
    acceptedAtMs: number,
    queueName = 'incidentpager',
    attributes: Record<string, string> = {},
  ): DeliveryJob => {
    const body = deliveryMessage(notificationId, event, acceptedAtMs);
    return createJob('incidentpager', {
      message: sqsMessage({
        messageId: event.event_id,
        body,
        eventSourceARN: `arn:aws:sqs:local-1:1:${queueName}`,
        messageAttributes: Object.fromEntries(
          Object.entries(attributes).map(([name, stringValue]) => [name, { stringValue, dataType: 'Number' }]),
        ),
      }),
      body: readDelivery(body),
      timeLeft: () => timeLeftMs,
    });
  };
  /** Creates the job of an event that SQS accepted when the alarm's state changed. */
  const job = (timeMs: number, ...rest: [queueName?: string, attributes?: Record<string, string>]): DeliveryJob =>
    jobOf(alarmEvent({ event_id: `e${timeMs}`, details: { state: 'CRITICAL', timestamp: timeMs } }), timeMs, ...rest);
  const target = { id: notificationId, type: 'incidentpager', details: {} } as const;
  const runWith = (changes: Partial<SenderDependencies>, job: DeliveryJob) =>
    createDeliver({ ...dependencies, ...changes })(job, Promise.resolve(target));
  /** Delivers jobs one after the other. @returns the kinds of their results */
  const run = async (...jobs: DeliveryJob[]) => {
    const kinds: string[] = [];
    for (const each of jobs) kinds.push((await runWith({}, each)).kind);
    return kinds;
  };
  const otherClaim = claimedLock(alarmHeader(), notificationId, 'other', NOW_MS);
  const records = () => deliveries.listNewest({ tenant: 'acme', notificationId }, 10);
  return {
    notificationId,
    records,
    jobOf,
    job,
    run,
    runWith,
    transport,
    sent,
    visibilityTimeouts,
    otherClaim,
  };
};

describe('delivery of the events of one incident', () => {
  it('delivers events one after the other, and records the newest in the lock', async () => {
    const { job, run, transport, otherClaim } = setUp();
    expect(await run(job(NOW_MS - 3), job(NOW_MS - 2), job(NOW_MS - 1))).toEqual(Array(3).fill('delivered'));
    expect(transport.mock.calls.map(([{ eventTimeMs }]) => eventTimeMs)).toEqual([NOW_MS - 3, NOW_MS - 2, NOW_MS - 1]);
    expect(await incidentLocks.claim(otherClaim, NOW_MS)).toMatchObject({ newest_event_at_ms: NOW_MS - 1 });
  });

  it('supersedes an event that is older than the last delivered event', async () => {
    const { job, run, transport } = setUp();
    await run(job(NOW_MS));
    expect(await run(job(NOW_MS - 1))).toEqual(['superseded']);
    expect(transport).toHaveBeenCalledTimes(1);
  });

  const withTime = (id: string, timestamp: unknown, state: AlarmState = 'CRITICAL') =>
    alarmEvent({ event_id: id, details: { state, timestamp } });

  it.each([
    ['have the same time', NOW_MS, NOW_MS],
    ['have no time', undefined, undefined],
    ['have a time or not', NOW_MS + 50_000, undefined],
    ['have no time or one', undefined, NOW_MS - 3_600_000],
  ])(
    'supersedes an event that SQS accepted before the last delivered event, and delivers one accepted later, if they %s',
    async (_, first, second) => {
      const { jobOf, run } = setUp();
      expect(await run(jobOf(withTime('delivered', first), NOW_MS))).toEqual(['delivered']);
      expect(await run(jobOf(withTime('older', second), NOW_MS - 1))).toEqual(['superseded']);
      expect(await run(jobOf(withTime('newer', second), NOW_MS + 1))).toEqual(['delivered']);
    },
  );

  it('supersedes an event that SQS accepted more than 60 s after a newer one, for the reason older_timestamp', async () => {
    const { jobOf, run, runWith, records } = setUp();
    await run(jobOf(withTime('newer', NOW_MS), NOW_MS));
    const result = await runWith({}, jobOf(withTime('older', NOW_MS - 3_600_000), NOW_MS + 60_001));
    expect(result).toMatchObject({ kind: 'superseded', hasOlderTimestamp: true });
    expect(logger.warn).toHaveBeenCalledWith(
      'event superseded',
      expect.objectContaining({ reason: 'older_timestamp', event_id: 'older', tenant_id: 'acme' }),
    );
    expect(await records()).toContainEqual(
      expect.objectContaining({
        event_id: 'older',
        status: 'superseded',
        event_at_ms: NOW_MS - 3_600_000,
        newer_event_at_ms: NOW_MS,
      }),
    );
  });

  it('delivers each event once, or supersedes it by a newer one, even if each of three is older than another one', async () => {
    const anyTime = fc.record({
      producedAtMs: fc.option(fc.integer({ min: NOW_MS - 2, max: NOW_MS }), { nil: undefined }),
      acceptedAtMs: fc.integer({ min: NOW_MS, max: NOW_MS + 2 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyTime, { minLength: 1, maxLength: 3 }), { maxLength: 4 }),
        async (batches) => {
          const { jobOf, run, runWith, transport } = setUp();
          const delivered: DeliveryJob[] = [];
          let count = 0;
          for (const batch of batches) {
            const jobs = batch.map(({ producedAtMs, acceptedAtMs }) =>
              jobOf(withTime(`e${count++}`, producedAtMs), acceptedAtMs),
            );
            const [first, ...rest] = jobs.toSorted((left, right) => compareEventTimes(left.time, right.time));
            if (!first) continue;
            for (const job of [first, ...rest]) {
              const { kind } = await runWith({}, job);
              if (kind === 'delivered') delivered.push(job);
              else expect(kind).toBe('superseded');
              expect(delivered.some(({ time }) => job.time === time || isOlder(job.time, time))).toBe(true);
            }
            expect(await run(first, ...rest)).toEqual(jobs.map(() => 'duplicate'));
          }
          expect(transport).toHaveBeenCalledTimes(delivered.length);
        },
      ),
      { numRuns: 25 },
    );
  });

  it.each([
    ['delivered', delivered],
    ['dead_lettered', failed('permanent', 'rejected', '')],
  ])('completes an event once, whatever values it has: %s', async (completed, outcome) => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 });
    const number = fc.oneof(fc.double(), fc.constantFrom(1e-200, 1e300, 10 ** 12, 2 ** 53));
    const value = fc.oneof(number, fc.jsonValue());
    const eventId = fc.oneof(
      text,
      fc.tuple(text, fc.maxSafeNat()).map(([start, time]) => `${start}:${time}:OK`),
    );
    await fc.assert(
      fc.asyncProperty(eventId, text, text, value, value, async (event_id, entity, alarm, timestamp, other) => {
        const event: AlarmEvent = {
          ...alarmEvent(),
          ...{ event_id, entity: { id: entity, other }, alarm: { id: alarm, other } },
          ...{ details: { state: 'CRITICAL', timestamp, other }, previous_state: other, log_entry_id: other },
        };
        const { jobOf, run } = setUp({ outcome });
        for (const expected of [completed, 'duplicate']) {
          expect(await run(jobOf(event, NOW_MS))).toEqual([expected]);
        }
      }),
      { numRuns: 20, examples: [['e', 'e', 'a', 1e-200, 1e-200]] },
    );
  });

  it.each(['incidentpager', 'incidentpager-Retries'])(
    'reschedules a message on its own queue if too little time is left: %s',
    async (name) => {
      const { job, run, transport, sent } = setUp({ timeLeftMs: 16_999 });
      expect(await run(job(NOW_MS, name))).toEqual(['busy']);
      expect(sent).toEqual([{ queue: queueUrl(name), delaySeconds: 2, waitCount: '1' }]);
      expect(transport).not.toHaveBeenCalled();
    },
  );

  it('keeps the lock, returns the message and counts the delivery if the lock cannot be advanced after it', async () => {
    const { job, run, runWith, transport, visibilityTimeouts } = setUp();
    let timeLeftMs = 30_000;
    const changes: Partial<SenderDependencies> = {
      transport: (...args) => {
        timeLeftMs = 12_000;
        return transport(...args);
      },
      incidentLocks: {
        ...incidentLocks,
        advanceAndRelease: async () => {
          throw new Error('no response');
        },
      },
    };
    const result = await runWith(changes, { ...job(NOW_MS), timeLeft: () => timeLeftMs });
    expect(result).toMatchObject({ kind: 'delivered', isReturned: true, isLockNotAdvanced: true });
    expect(logger.error).toHaveBeenCalledExactlyOnceWith('internal error', expect.anything());
    expect(visibilityTimeouts).toEqual([2]);
    expect(await run(job(NOW_MS - 1))).toEqual(['busy']);
    expect(transport).toHaveBeenCalledTimes(1);
  });

  it('advances the lock before it records the delivery', async () => {
    const { job, runWith } = setUp();
    const writes: string[] = [];
    const watched: Partial<SenderDependencies> = {
      incidentLocks: {
        ...incidentLocks,
        advanceAndRelease: (...args) => {
          writes.push('advance and release');
          return incidentLocks.advanceAndRelease(...args);
        },
      },
      deliveries: {
        ...deliveries,
        update: (held, next) => {
          writes.push(next.status);
          return deliveries.update(held, next);
        },
      },
    };
    await runWith(watched, job(NOW_MS));
    expect(writes).toEqual(['advance and release', 'delivered']);
  });

  it('waits for the lock on its own queue while another worker holds it, longer each time', async () => {
    const { job, run, transport, sent, otherClaim } = setUp();
    await incidentLocks.claim(otherClaim, NOW_MS);
    expect(await run(job(NOW_MS, 'incidentpager', { lock_wait_count: '5' }))).toEqual(['busy']);
    expect(sent).toEqual([{ queue: queueUrl('incidentpager'), delaySeconds: 35, waitCount: '6' }]);
    expect(transport).not.toHaveBeenCalled();
  });

  it('waits for the next attempt and releases the lock if the circuit is open', async () => {
    const circuitOpen = failed('throttled', 'circuit_open', '', { countsAsAttempt: false, retryAfterMs: 30_000 });
    const { job, run, otherClaim } = setUp({ outcome: circuitOpen });
    expect(await run(job(NOW_MS))).toEqual(['retried']);
    expect(await incidentLocks.claim(otherClaim, NOW_MS)).toMatchObject({ advance_count: 0 });
  });

  it('continues with the next event after an internal error', async () => {
    const { job, run, transport, visibilityTimeouts, otherClaim } = setUp();
    transport.mockRejectedValueOnce(new Error('no response'));
    expect(await run(job(NOW_MS - 1), job(NOW_MS))).toEqual(['internal_error', 'delivered']);
    expect(visibilityTimeouts).toEqual([2]);
    expect(await incidentLocks.claim(otherClaim, NOW_MS)).toMatchObject({ newest_event_at_ms: NOW_MS });
  });

  it('supersedes an event that is older than one in shadow mode, which another system has sent', async () => {
    const { job, run, runWith, transport, records } = setUp();
    const inShadow = {
      accounts: { isShadowed: async () => true, hasShadowMode: async () => true, summaries: async () => undefined },
    };
    expect((await runWith(inShadow, job(NOW_MS))).kind).toBe('cancelled');
    expect(await run(job(NOW_MS - 1))).toEqual(['superseded']);
    expect(await run(job(NOW_MS + 1))).toEqual(['delivered']);
    expect((await records()).map(({ status }) => status).toSorted()).toEqual(['cancelled', 'delivered', 'superseded']);
    expect(transport).toHaveBeenCalledTimes(1);
  });

  it('advances the lock for a duplicate of a delivered event, because its worker may have crashed before it did so', async () => {
    const { job, run, otherClaim } = setUp();
    const crashed = claimedRecord(job(NOW_MS).body, 'crashed', NOW_MS);
    await writeRecords(client, 'deliveries', [withStatus(crashed, 'delivered', NOW_MS)]);
    expect(await run(job(NOW_MS))).toEqual(['duplicate']);
    expect(await incidentLocks.claim(otherClaim, NOW_MS)).toMatchObject({ newest_event_at_ms: NOW_MS });
  });

  it('returns the message if earlier calls leave too little time for the send', async () => {
    const { job, run, visibilityTimeouts } = setUp();
    let calls = 0;
    const slow: DeliveryJob = { ...job(NOW_MS), timeLeft: () => (calls++ < 1 ? 18_000 : 12_000) };
    expect(await run(slow)).toEqual(['internal_error']);
    expect(visibilityTimeouts).toEqual([2]);
  });
});
