import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { Queues } from '../../shared/adapters/queues.ts';
import type { AlarmEvent, AlarmState } from '../../shared/contracts/alarm-event.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { compareEventTimes, isOlder } from '../../shared/domain/event-time.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createDeliver } from '../../shared/pipeline/sender/deliver.ts';
import { createJob, type DeliveryJob } from '../../shared/pipeline/sender/delivery-job.ts';
import type { SenderDependencies } from '../../shared/pipeline/sender/sender-dependencies.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent, deliveryMessage, readDelivery } from '../support/events.ts';
import { runs } from '../support/quick-run.ts';
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

/** Sets up the incident pager's sender for one notification, with queues that record visibility timeouts in ms. */
const setUp = (outcome: AttemptOutcome = delivered) => {
  const visibilityTimeouts: number[] = [];
  const unexpected = () => Promise.reject(new Error('not expected'));
  const queues: Queues = {
    sendAll: unexpected,
    sendToDeadLetterQueue: async () => undefined,
    sendDelayed: async () => undefined,
    changeVisibility: async (_url, _message, timeoutMs) => {
      visibilityTimeouts.push(timeoutMs);
    },
  };
  const transport = vi.fn<SenderDependencies['transport']>(async () => outcome);
  const given = { type: 'incidentpager', transport, queues, clock: () => NOW_MS } as const;
  const dependencies = senderDependencies(client, given);
  const notificationId = newNotificationId();
  /** Creates the job of an event. */
  const jobOf = (event: AlarmEvent, acceptedAtMs: number): DeliveryJob => {
    const body = deliveryMessage(notificationId, event, acceptedAtMs);
    const message = sqsMessage({ messageId: event.event_id, body });
    return createJob('incidentpager', { message, body: readDelivery(body), timeLeft: () => 30_000 });
  };
  const target = { id: notificationId, type: 'incidentpager', details: {} } as const;
  const runWith = (changes: Partial<SenderDependencies>, job: DeliveryJob) =>
    createDeliver({ ...dependencies, ...changes })(job, Promise.resolve(target));
  /** Delivers jobs one after the other. @returns the kinds of their results */
  const run = async (...jobs: DeliveryJob[]) => {
    const kinds: string[] = [];
    for (const each of jobs) kinds.push((await runWith({}, each)).kind);
    return kinds;
  };
  const records = () => deliveries.listNewest({ tenant: 'acme', notificationId }, 10);
  return { records, jobOf, run, runWith, transport, visibilityTimeouts };
};

describe('delivery of the events of one incident', () => {
  const withTime = (id: string, timestamp: unknown, state: AlarmState = 'CRITICAL') =>
    alarmEvent({ event_id: id, details: { state, timestamp } });

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
      { numRuns: runs(25) },
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
        const { jobOf, run } = setUp(outcome);
        for (const expected of [completed, 'duplicate']) {
          expect(await run(jobOf(event, NOW_MS))).toEqual([expected]);
        }
      }),
      { numRuns: runs(20), examples: [['e', 'e', 'a', 1e-200, 1e-200]] },
    );
  });

  it('keeps the lock, returns the message and counts the delivery if the lock cannot be advanced after it', async () => {
    const { jobOf, run, runWith, transport, visibilityTimeouts } = setUp();
    const job = (timeMs: number) => jobOf(withTime(`e${timeMs}`, timeMs), timeMs);
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
    expect(visibilityTimeouts).toEqual([2_000]);
    expect(await run(job(NOW_MS - 1))).toEqual(['busy']);
    expect(transport).toHaveBeenCalledTimes(1);
  });
});
