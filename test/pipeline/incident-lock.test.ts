import { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createQueues } from '../../shared/adapters/queues.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { deliveryId } from '../../shared/domain/delivery-key.ts';
import { claimedRecord, withStatus } from '../../shared/domain/delivery-record.ts';
import { claimedLock } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import type { DeliveryJob, SenderDependencies } from '../../shared/pipeline/sender/delivery-job.ts';
import { deliverInOrder } from '../../shared/pipeline/sender/incident-lock.ts';
import { startDatabase } from '../support/dynamodb.ts';
import { alarmEvent } from '../support/events.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client, stop } = await startDatabase();
afterAll(stop);
const deliveries = createDeliveryRepository(client, 'deliveries');

const NOW = Date.UTC(2026, 0, 1);
const address = (name: string) => `https://sqs.example.com/1/${name}`;
const queueUrls = {
  email: address('email'),
  technicalContactsEmail: address('technicalContactsEmail'),
  webhook: address('webhook'),
  sms: address('sms'),
  incidentpager: address('incidentpager'),
  incidentrouter: address('incidentrouter'),
  atomfeed: address('atomfeed'),
  managed: address('managed'),
};
const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };

const batchInput = z.object({
  QueueUrl: z.string(),
  Entries: z.array(
    z.object({
      DelaySeconds: z.number(),
      MessageAttributes: z.record(z.string(), z.object({ StringValue: z.string() })),
    }),
  ),
});

type Sent = { queue: string; seconds: number; waits: string | undefined; isOlder: boolean };

/** The sender of pagers, whose SQS keeps what it is given, for one notification. */
const setUp = ({ timeLeft = 30_000, outcome = delivered }: { timeLeft?: number; outcome?: AttemptOutcome } = {}) => {
  const sqs = new SQSClient({ region: 'local-1', credentials: { accessKeyId: 'none', secretAccessKey: 'none' } });
  const sent: Sent[] = [];
  let requests = 0;
  sqs.middlewareStack.add(
    () => async (args) => {
      requests++;
      const { QueueUrl, Entries } = batchInput.parse(args.input);
      sent.push(
        ...Entries.map(({ DelaySeconds, MessageAttributes }) => ({
          queue: QueueUrl,
          seconds: DelaySeconds,
          waits: MessageAttributes.lock_waits?.StringValue,
          isOlder: MessageAttributes.newer_waits !== undefined,
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
    queues: createQueues(sqs, () => NOW),
    queueUrls,
    retryQueueUrl: address('incidentpager-Retries'),
    deadLetterQueueUrl: address('incidentpager-DeadLetters'),
    retryDelayScale: 1,
    sendsDeadLetterEmail: false,
    clock: () => NOW,
    isTenantThrottled: () => false,
  };
  const notificationId = newNotificationId();
  const job = (time: number, from = 'incidentpager', attributes: Record<string, string> = {}): DeliveryJob => {
    const event = alarmEvent({ event_id: `e${time}` });
    return {
      dependencies,
      message: sqsMessage({
        messageId: `m${time}`,
        body: `text ${time}`,
        eventSourceARN: `arn:aws:sqs:local-1:1:${from}`,
        messageAttributes: Object.fromEntries(
          Object.entries(attributes).map(([name, stringValue]) => [name, { stringValue, dataType: 'Number' }]),
        ),
      }),
      body: { notification_id: notificationId, event, event_time_ms: time, content_hash: 'hash' },
      deliveryId: deliveryId(event, notificationId),
      timeLeft: () => timeLeft,
    };
  };
  const target = { id: notificationId, type: 'incidentpager', details: {} } as const;
  const run = (first: DeliveryJob, ...rest: DeliveryJob[]) =>
    deliverInOrder([first, ...rest], Promise.resolve(target), async (one, settled) => ({
      job: one,
      settled: await settled.catch(() => ({ outcome: 'internal_error' as const, isReturned: true as const })),
    }));
  const lock = claimedLock(alarmEvent(), notificationId, 'another', NOW);
  const outcomes = (results: Awaited<ReturnType<typeof run>>) => results.map(({ settled }) => settled.outcome);
  return { job, run, transport, sent, requests: () => requests, lock, outcomes };
};

describe('messages of an incident', () => {
  it('are delivered under one lock, oldest first, and the lock remembers the newest', async () => {
    const { job, run, transport, lock, outcomes } = setUp();
    expect(outcomes(await run(job(NOW - 3), job(NOW - 2), job(NOW - 1)))).toEqual(Array(3).fill('delivered'));
    expect(transport.mock.calls.map(([{ eventTimeMs }]) => eventTimeMs)).toEqual([NOW - 3, NOW - 2, NOW - 1]);
    expect(await deliveries.claimLock(lock, NOW)).toMatchObject({ newest_event_at_ms: NOW - 1 });
  });

  it('are superseded where a newer event was delivered before', async () => {
    const { job, run, transport, outcomes } = setUp();
    await run(job(NOW));
    expect(outcomes(await run(job(NOW - 1)))).toEqual(['superseded']);
    expect(transport).toHaveBeenCalledTimes(1);
  });

  it.each(['incidentpager', 'incidentpager-Retries'])(
    'are sent anew to %s, from where they came, where no time is left for them',
    async (name) => {
      const { job, run, transport, sent, outcomes } = setUp({ timeLeft: 16_999 });
      expect(outcomes(await run(job(NOW, name)))).toEqual(['busy']);
      expect(sent).toEqual([{ queue: address(name), seconds: 2, waits: '1', isOlder: false }]);
      expect(transport).not.toHaveBeenCalled();
    },
  );

  it('wait in one request while another worker holds the lock, and only the newest asks often', async () => {
    const { job, run, transport, sent, requests, lock, outcomes } = setUp();
    await deliveries.claimLock(lock, NOW);
    const waits = { lock_waits: '5' };
    const line = [NOW - 3, NOW - 2, NOW - 1].map((time) => job(time, 'incidentpager', waits));
    const [first = job(NOW), ...rest] = line;
    expect(outcomes(await run(first, ...rest))).toEqual(['busy', 'busy', 'busy']);
    expect(sent.map(({ seconds, waits: asked, isOlder }) => [seconds, asked, isOlder])).toEqual([
      [900, '6', true],
      [900, '6', true],
      [35, '6', false],
    ]);
    expect(requests()).toBe(1);
    expect(transport).not.toHaveBeenCalled();
  });

  it('ask seldom once a newer one waits elsewhere', async () => {
    const { job, run, sent, lock } = setUp();
    await deliveries.claimLock(lock, NOW);
    await run(job(NOW));
    await run(job(NOW - 1, 'incidentpager', { lock_waits: '3' }));
    expect(sent.map(({ seconds, isOlder }) => [seconds, isOlder])).toEqual([
      [2, false],
      [128, true],
    ]);
  });

  it('wait while their destination is not called, which uses no attempt and keeps nobody from the lock', async () => {
    const paused = failed('throttled', 'circuit_open', '', { countsAsAttempt: false, retryAfterMs: 30_000 });
    const { job, run, transport, sent, lock, outcomes } = setUp({ outcome: paused });
    const [older, newest] = [job(NOW - 1), job(NOW)];
    expect(outcomes(await run(older, newest))).toEqual(['busy', 'busy']);
    expect(transport).toHaveBeenCalledTimes(1);
    expect(sent).toHaveLength(2);
    expect(await deliveries.claimLock(lock, NOW)).toMatchObject({ newest_event_at_ms: 0 });
  });

  it('are kept from the lock where it could not be advanced after a delivery, and the message is received again', async () => {
    const { job, run, transport, outcomes } = setUp();
    const ok = job(NOW);
    let left = 30_000;
    const broken: DeliveryJob = {
      ...ok,
      timeLeft: () => left,
      dependencies: {
        ...ok.dependencies,
        transport: (...given) => {
          left = 12_000;
          return transport(...given);
        },
        deliveries: {
          ...deliveries,
          advanceAndReleaseLock: async () => {
            throw new Error('no answer');
          },
        },
      },
    };
    expect(outcomes(await run(broken))).toEqual(['internal_error']);
    expect(outcomes(await run(job(NOW - 1)))).toEqual(['busy']);
    expect(transport).toHaveBeenCalledTimes(1);
  });

  it('advance the lock by a duplicate of what was delivered: its worker may have crashed before', async () => {
    const { job, run, lock, outcomes } = setUp();
    const delivered = claimedRecord(job(NOW).body, 'crashed', NOW);
    await deliveries.complete(withStatus(delivered, 'delivered'));
    expect(outcomes(await run(job(NOW)))).toEqual(['duplicate']);
    expect(await deliveries.claimLock(lock, NOW)).toMatchObject({ newest_event_at_ms: NOW });
  });

  it('ask seldom, one by one, for a destination that is not called for now, unless they are the newest', async () => {
    const paused = failed('throttled', 'circuit_open', '', { countsAsAttempt: false, retryAfterMs: 30_000 });
    const { job, run, sent } = setUp({ outcome: paused });
    await run(job(NOW));
    await run(job(NOW - 1));
    await run(job(NOW - 2, 'incidentpager', { lock_waits: '9' }));
    expect(sent.map(({ isOlder, seconds }) => [isOlder, seconds])).toEqual([
      [false, 2],
      [true, 2],
      [true, 900],
    ]);
  });

  it('are a failure of ours where the calls before the send used up the time', async () => {
    const { job, run, outcomes } = setUp();
    let calls = 0;
    const slow: DeliveryJob = { ...job(NOW), timeLeft: () => (calls++ < 3 ? 18_000 : 12_000) };
    expect(outcomes(await run(slow))).toEqual(['internal_error']);
  });
});
