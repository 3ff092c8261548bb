import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createFailedMessages, type FailedMessage } from '../../shared/adapters/deliveries/failed-messages.ts';
import { createSummarizedAlerts } from '../../shared/adapters/deliveries/summarized-alerts.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { DeadLetterReason, Queues } from '../../shared/adapters/queues.ts';
import type { Delivery } from '../../shared/contracts/messages.ts';
import type { NoticeContent } from '../../shared/contracts/notice.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  reasonOf,
  withAttempt,
  withNextAttempt,
} from '../../shared/domain/delivery-record.ts';
import type { DeliveryTarget } from '../../shared/domain/notification.ts';
import { newNotificationId, OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import type { Summary } from '../../shared/domain/summary.ts';
import { summaryProblem } from '../../shared/pipeline/notices/unreached-notice.ts';
import { createDeliver } from '../../shared/pipeline/sender/deliver.ts';
import { createJob } from '../../shared/pipeline/sender/delivery-job.ts';
import { createTestRun } from '../../shared/pipeline/sender/run-test.ts';
import type { SenderDependencies } from '../../shared/pipeline/sender/sender-dependencies.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent, alarmHeader, alertContent } from '../support/events.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { senderDependencies } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();
const failedMessages = createFailedMessages(client, 'deliveries');

const NOW_MS = Date.UTC(2026, 0, 1);
const notice: NoticeContent = { kind: 'failing', subject: 's', paragraphs: [], facts: [] };
const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };
const rejected = failed('permanent', 'rejected', '');
/** The record of a delivery whose claim was released without an attempt. */
const unclaimed = { status: 'pending', attempt_count: 0, next_attempt_at_ms: NOW_MS, lease_until_ms: 0 };

beforeEach(() => {
  for (const level of ['warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

/** Sets up the sender of a type for one delivery. The queues record dead letters and delayed messages. */
const setUp = (
  type: NotificationTypeId,
  outcome: AttemptOutcome,
  { changes = {}, ...others }: Partial<SenderDependencies> & { changes?: Partial<Delivery> } = {},
) => {
  const transport = vi.fn<SenderDependencies['transport']>(async () => outcome);
  const deadLetters: string[] = [];
  const reasons: DeadLetterReason[] = [];
  const delayed: { url: string; waitMs: number }[] = [];
  const queues: Queues = {
    sendAll: async () => [],
    sendDelayed: async (url, _message, waitMs) => {
      delayed.push({ url, waitMs });
    },
    changeVisibility: async () => undefined,
    sendToDeadLetterQueue: async (_url, { body }, reason) => {
      deadLetters.push(body);
      reasons.push(reason);
    },
  };
  const id = changes.notification_id ?? newNotificationId();
  const { event, payload } = alertContent(alarmEvent());
  const dependencies = senderDependencies(client, { type, transport, queues, clock: () => NOW_MS, ...others });
  const { deliveries } = dependencies;
  const { attributes } = sqsMessage();
  const job = createJob(type, {
    message: sqsMessage({ attributes: { ...attributes, SentTimestamp: String(NOW_MS) } }),
    body: { notification_id: id, event, payload, accepted_at_ms: NOW_MS, content_hash: 'hash', ...changes },
    timeLeft: () => 20_000,
  });
  const deliver = (target: Promise<DeliveryTarget | undefined> = Promise.resolve({ id, type, details: {} })) =>
    createDeliver(dependencies)(job, target);
  const record = async () => {
    const [found] = await deliveries.listNewest({ tenant: event.tenant_id, notificationId: id }, 1);
    return found;
  };
  const stored = async (): Promise<FailedMessage[]> => {
    const range = { sinceMs: 0, after: null, untilMs: NOW_MS + 1 };
    const groups = await Array.fromAsync(failedMessages.list({ tenant: event.tenant_id, notificationId: id }, range));
    return groups.flat();
  };
  return { job, deliveries, transport, deliver, record, stored, deadLetters, reasons, delayed };
};

describe('a delivery that fails permanently', () => {
  it('is in the dead-letter queue and among the stored messages of the tenant, with the body of the next round', async () => {
    const { deliver, record, stored, deadLetters } = setUp('webhook', rejected);
    expect(await deliver()).toMatchObject({ kind: 'dead_lettered' });
    expect(await record()).toMatchObject({ status: 'failed', updated_at_ms: NOW_MS });
    const [message] = await stored();
    expect(message?.body()).toBe(deadLetters[0]);
    expect(JSON.parse(deadLetters[0] ?? '')).toMatchObject({ round: 2 });
  });
});

describe('an email that bounces before its sender records that SES accepted it', () => {
  const accepted = { reachedRecipientHashes: ['a'] };
  type Options = Parameters<typeof setUp>[2];
  const setUpBounce = (outcome: AttemptOutcome, options?: Options) => {
    const world = setUp('email', { ...outcome, ...accepted }, options);
    const { event, notification_id } = world.job.body;
    world.transport.mockImplementation(async () => {
      await world.deliveries.addBounce(deliveryKey(event, notification_id), 'a', 'bounced');
      return { ...outcome, ...accepted };
    });
    return world;
  };

  it.each([
    ['delivered', delivered],
    ['dead_lettered', rejected],
  ])('has the status bounced after it is %s', async (kind, outcome) => {
    const { deliver, record } = setUpBounce(outcome);
    expect(await deliver()).toMatchObject({ kind, record: { status: 'bounced' } });
    expect(await record()).toMatchObject({ status: 'bounced', last_reason: 'bounced' });
  });

  it('has the status bounced after its message is repeated, if its sender was ended before it wrote that', async () => {
    const changes = { notification_id: newNotificationId() };
    const markBounced = async (found: DeliveryRecord) => found;
    const deliveries = { ...createDeliveryRepository(client, 'deliveries'), markBounced };
    const ended = setUpBounce(delivered, { changes, deliveries });
    await ended.deliver();
    expect(await ended.record()).toMatchObject({ status: 'delivered' });
    const next = setUp('email', delivered, { changes });
    expect(await next.deliver()).toMatchObject({ kind: 'duplicate', record: { status: 'bounced' } });
  });
});

describe('an email that is refused', () => {
  const refusals = ['email_paused', 'opted_out'] as const;
  /** Each alert that is sent is listed in a summary. */
  const summaries = { email_after: 0, sms_after: 0, window_minutes: 5 };

  it.each(
    refusals.flatMap((reason) => [
      [reason, 'an alert', {}] as const,
      [reason, 'a summary', { notice: { ...notice, kind: 'summary' as const } }] as const,
    ]),
  )(
    'because of %s fails if it is %s: without an attempt, not in a summary, and can be redelivered',
    async (...given) => {
      const [reason, , changes] = given;
      const accounts = { isShadowed: async () => false, summaries: async () => summaries };
      const { deliver, record, stored, reasons, transport } = setUp('email', rejected, {
        changes,
        refusalOf: async () => reason,
        accounts,
      });
      expect(await deliver()).toMatchObject({ kind: 'dead_lettered', cause: 'destination' });
      const found = await record();
      expect(found).toMatchObject({ status: 'failed', attempt_count: 0, attempts: [] });
      expect(found && reasonOf(found)).toBe(reason);
      expect(reasons).toMatchObject([{ reason, cause: 'destination' }]);
      expect(await stored()).toHaveLength(1);
      expect(transport).not.toHaveBeenCalled();
    },
  );

  it('is tried again if it is unknown whether it is refused', async () => {
    const { deliver, record, transport } = setUp('email', delivered, {
      refusalOf: () => Promise.reject(new Error('no response')),
    });
    expect(await deliver()).toMatchObject({ kind: 'internal_error' });
    expect(await record()).toMatchObject(unclaimed);
    expect(transport).not.toHaveBeenCalled();
  });

  it('is not sent as a test, which says why', async () => {
    const transport = vi.fn<SenderDependencies['transport']>();
    const runTest = createTestRun('email', transport, async () => 'email_paused');
    const tested = { tenant: 'acme', type: 'email', details: { address: 'a@example.com' } };
    expect(await runTest(tested, () => 20_000)).toMatchObject({
      status: 'failure',
      message: 'Not sent: email of the account is paused, because of too many bounces or complaints',
    });
    expect(transport).not.toHaveBeenCalled();
  });
});

describe('a notice', () => {
  it.each<[string, AttemptOutcome, Partial<SenderDependencies>]>([
    ['to an account without contacts', failed('permanent', 'no_contacts', ''), {}],
    ['to a recipient who has opted out', delivered, { refusalOf: async () => 'opted_out' }],
    ['of a tenant whose email is paused', delivered, { refusalOf: async () => 'email_paused' }],
  ])('%s is cancelled without a dead letter', async (_, outcome, others) => {
    const { deliver, record, deadLetters } = setUp('technicalContactsEmail', outcome, {
      changes: { notice },
      ...others,
    });
    expect(await deliver()).toMatchObject({ kind: 'cancelled' });
    expect(await record()).toMatchObject({ status: 'cancelled' });
    expect(deadLetters).toEqual([]);
  });

  it('that fails is dead-lettered, but tenants cannot redeliver it', async () => {
    const { deliver, stored, deadLetters } = setUp('technicalContactsEmail', rejected, { changes: { notice } });
    expect(await deliver()).toMatchObject({ kind: 'dead_lettered' });
    expect(deadLetters).toHaveLength(1);
    expect(await stored()).toEqual([]);
  });

  it('to the contacts is cancelled in shadow mode, and one to the operators is sent', async () => {
    const accounts = { isShadowed: async () => true, summaries: async () => undefined };
    const toContacts = setUp('technicalContactsEmail', delivered, { changes: { notice }, accounts });
    expect(await toContacts.deliver()).toMatchObject({ kind: 'cancelled' });
    const changes = { notice, notification_id: OPERATORS_NOTIFICATION_ID };
    expect(await setUp('managed', delivered, { changes, accounts }).deliver()).toMatchObject({ kind: 'delivered' });
  });
});

describe('a delivery that is claimed while its target is read', () => {
  it('is forwarded to the sender of its new type, which can claim it', async () => {
    const { job, deliver, transport, record, delayed } = setUp('webhook', rejected);
    const { notification_id: id } = job.body;
    expect(await deliver(Promise.resolve({ id, type: 'email', details: {} }))).toMatchObject({ kind: 'forwarded' });
    expect(transport).not.toHaveBeenCalled();
    expect(delayed).toEqual([{ url: senderQueueUrls.email, waitMs: 0 }]);
    expect(await record()).toMatchObject(unclaimed);
  });
});

describe('a summary', () => {
  const summaryNotice: NoticeContent = { ...notice, kind: 'summary' };
  const summaryWith = (count: number): Summary => ({
    alarmCounts: { CRITICAL: count, WARNING: 0, OK: 0 },
    unread: 0,
    alarms: [],
  });
  const setUpSummary = (summary: Summary | undefined, changes: Partial<Delivery> = {}) => {
    const summarizedAlerts = { ...createSummarizedAlerts(client, 'deliveries'), read: async () => summary };
    const event = alarmHeader({ details: { state: 'WARNING' } });
    return setUp('email', delivered, { changes: { notice: summaryNotice, event, ...changes }, summarizedAlerts });
  };

  it.each([
    ['that is sent', 'email', 'delivered'],
    ['that the new type of its notification cannot send', 'managed', 'pending'],
  ] as const)('%s has the number of its alarms and their state, for the escalation', async (_, type, status) => {
    const { job, deliver, record } = setUpSummary(summaryWith(312));
    await deliver(Promise.resolve({ id: job.body.notification_id, type, details: {} }));
    const stored = await record();
    expect(stored).toMatchObject({ status, state: 'CRITICAL' });
    expect(stored && summaryProblem(stored)).toBe('a summary of 312 alarms could not be delivered');
  });

  it('without alerts is cancelled, also if the type of its notification has changed', async () => {
    const { job, deliver, delayed } = setUpSummary(summaryWith(0));
    const target = { id: job.body.notification_id, type: 'managed' as const, details: {} };
    expect(await deliver(Promise.resolve(target))).toMatchObject({ kind: 'cancelled' });
    expect(delayed).toEqual([]);
  });

  it.each([
    ['is received before it is due by the clock of SQS waits for the alerts of other senders', summaryWith(1), 1_500],
    ['there is no time to read waits for another invocation', undefined, 0],
  ] as const)('that %s', async (_, summary, waitMs) => {
    const { deliver, record, delayed, transport } = setUpSummary(summary, { accepted_at_ms: NOW_MS + waitMs });
    expect(await deliver()).toMatchObject({ kind: 'not_due' });
    expect(delayed).toEqual([{ url: queueUrl('email-Retries'), waitMs }]);
    expect((await record()) ?? unclaimed).toMatchObject(unclaimed);
    expect(transport).not.toHaveBeenCalled();
  });

  it('whose notification has got a type without summaries fails', async () => {
    const { deliver, reasons } = setUp('managed', delivered, { changes: { notice: summaryNotice } });
    expect(await deliver()).toMatchObject({ kind: 'dead_lettered' });
    expect(reasons).toMatchObject([{ reason: 'type_without_summaries', cause: 'destination' }]);
  });
});

describe('a round that has expired', () => {
  const HOUR_MS = 3_600_000;
  const quotaExceeded = failed('throttled', 'aws_quota_exceeded', '', { cause: 'service', countsAsAttempt: false });

  it.each([
    ['24 h after its first attempt, with the cause of its last failure', rejected, 25, 'destination', 1],
    ['after four days without an attempt, with the cause "service"', quotaExceeded, 97, 'service', 0],
  ] as const)('is dead-lettered %s', async (_, failure, ageHours, cause, attemptCount) => {
    const { job, deliveries, deliver, record, reasons } = setUp('email', quotaExceeded);
    const startMs = NOW_MS - ageHours * HOUR_MS;
    const first = claimedRecord(job.body, 'earlier', startMs);
    await deliveries.claim(first, startMs);
    // The last attempt was due an hour ago, as it is if SES or SNS delays each of them.
    const dueAtMs = NOW_MS - HOUR_MS;
    await deliveries.update(first, withNextAttempt(withAttempt(first, failure, startMs, 10), dueAtMs));
    expect(await deliver()).toMatchObject({ kind: 'dead_lettered' });
    expect(reasons).toEqual([{ reason: 'expired', cause, attemptCount }]);
    expect(await record()).toMatchObject({ status: 'failed', round: 1 });
  });
});

describe('an attempt', () => {
  it('is told whether an earlier one may have arrived', async () => {
    const timeout = failed('transient', 'timeout', '');
    let nowMs = NOW_MS;
    const { transport, deliver } = setUp('atomfeed', timeout, { clock: () => nowMs });
    await deliver();
    nowMs += 10_000;
    await deliver();
    expect(transport.mock.calls.map(([{ mayHaveArrived }]) => mayHaveArrived)).toEqual([false, true]);
  });
});
