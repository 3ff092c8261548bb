import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createFailedMessageList, type FailedMessage } from '../../shared/adapters/deliveries/failed-message-list.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { DeadLetterReason, Queues } from '../../shared/adapters/queues.ts';
import type { Delivery } from '../../shared/contracts/messages.ts';
import type { NoticeContent } from '../../shared/contracts/notice.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import { parseDelivery } from '../../shared/domain/delivery-message.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  withAttempt,
  withNextAttempt,
} from '../../shared/domain/delivery-record.ts';
import { reasonOf } from '../../shared/domain/delivery-status.ts';
import { eventHeader } from '../../shared/domain/event-header.ts';
import { heartbeatEvent, unstoredTarget } from '../../shared/domain/heartbeat.ts';
import type { DeliveryTarget } from '../../shared/domain/notification.ts';
import { newNotificationId, OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import type { Summary } from '../../shared/domain/summary.ts';
import { LEASE_MS } from '../../shared/domain/timeouts.ts';
import type { Transport } from '../../shared/domain/transport.ts';
import { summaryProblem } from '../../shared/pipeline/notices/notice-table.ts';
import { createDelivery } from '../../shared/pipeline/sender/deliver.ts';
import { createJob } from '../../shared/pipeline/sender/delivery-job.ts';
import { createDeliveries } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent, alarmHeader, alertContent } from '../support/events.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { type SenderOptions, senderOf } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();
const failedMessages = createFailedMessageList(client, 'deliveries');

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

type Options = Partial<SenderOptions> & {
  changes?: Partial<Delivery>;
  receiveCount?: number;
  queueChanges?: Partial<Queues>;
  timeLeft?: () => number;
};

/** The account has summaries, and the window of the alert has had its first alerts. */
const summarizing: Options = {
  accounts: {
    isShadowed: async () => false,
    summaries: async () => ({ email_after: 1, sms_after: 1, window_minutes: 1 }),
  },
  summarizedAlerts: { addFirst: async () => false },
};

/** Sets up the sender of a type for one delivery. The queues record dead letters and delayed messages. */
const setUp = (
  type: NotificationTypeId,
  outcome: AttemptOutcome,
  { changes = {}, receiveCount = 1, queueChanges = {}, timeLeft = () => 20_000, ...others }: Options = {},
) => {
  const transport = vi.fn<Transport>(async () => outcome);
  const deadLetters: string[] = [];
  const reasons: DeadLetterReason[] = [];
  const delayed: { url: string; waitMs: number }[] = [];
  const copies: (Delivery | undefined)[] = [];
  const queues: Queues = {
    sendAll: async () => [],
    sendDelayed: async (url, message, waitMs) => {
      delayed.push({ url, waitMs });
      copies.push(parseDelivery(message.body));
    },
    changeVisibility: async (url, _message, waitMs) => void delayed.push({ url, waitMs }),
    sendToDeadLetterQueue: async (_url, { body }, reason) => {
      deadLetters.push(body);
      reasons.push(reason);
    },
    ...queueChanges,
  };
  const id = changes.notification_id ?? newNotificationId();
  const accepted = { accepted_at_ms: NOW_MS, content_hash: 'hash' };
  const body = { notification_id: id, ...alertContent(alarmEvent()), ...accepted, ...changes };
  const notification = { tenant: body.event.tenant_id, id };
  const { dependencies, parts } = senderOf(client, { type, transport, queues, clock: () => NOW_MS, ...others });
  const { deliveries } = dependencies;
  const received = { SentTimestamp: String(NOW_MS), ApproximateReceiveCount: String(receiveCount) };
  const { payload, ...envelope } = body;
  const job = createJob(type, {
    message: sqsMessage({
      body: `${JSON.stringify(envelope).slice(0, -1)},\n"payload":${payload}}`,
      attributes: { ...sqsMessage().attributes, ...received },
    }),
    body,
    timeLeft,
  });
  const deliver = async (target: Promise<DeliveryTarget | undefined> = Promise.resolve({ id, type, details: {} })) => {
    const deliverAll = createDelivery(dependencies, parts, { targets: () => ({ find: () => target }) });
    const [processed] = await deliverAll([job]);
    return processed?.result ?? expect.unreachable();
  };
  const record = async () => {
    const newest = await createDeliveries(client).listNewest(notification, 100);
    return newest.find(({ event_id }) => event_id === body.event.event_id);
  };
  const stored = async (): Promise<FailedMessage[]> => {
    const range = { sinceMs: 0, after: null, untilMs: NOW_MS + 1 };
    const groups = await Array.fromAsync(failedMessages.list(notification, range));
    return groups.flat();
  };
  return { job, deliveries, transport, deliver, record, stored, deadLetters, reasons, delayed, copies, queues };
};

it('an email that bounces before its sender records it is bounced after its message is repeated, if its sender was ended before it wrote that', async () => {
  const changes = { notification_id: newNotificationId() };
  const markBounced = async (found: DeliveryRecord) => found;
  const ended = setUp('email', delivered, { changes, deliveries: { ...createDeliveries(client), markBounced } });
  ended.transport.mockImplementation(async () => {
    const key = deliveryKey(ended.job.body.event, changes.notification_id);
    await createDeliveries(client).recordEmailReport(key, 'bounce', NOW_MS, 'a');
    return { ...delivered, reachedRecipientHashes: ['a'] };
  });
  await ended.deliver();
  expect(await ended.record()).toMatchObject({ status: 'delivered' });
  const next = setUp('email', delivered, { changes });
  expect(await next.deliver()).toMatchObject({ kind: 'duplicate' });
  expect(await next.record()).toMatchObject({ status: 'bounced' });
});

describe('an email that is refused', () => {
  const reason = 'opted_out' as const;

  const refused = failed('permanent', reason, '', { countsAsAttempt: false });

  it.each<[string, Options, number]>([
    ['when it is sent', {}, 1],
    ['before it is listed in a summary', { refusalOf: async () => reason, ...summarizing }, 0],
  ])('%s fails without an attempt, and can be redelivered', async (_, options, sendCount) => {
    const { deliver, record, stored, reasons, transport } = setUp('email', refused, options);
    expect(await deliver()).toMatchObject({ kind: 'dead_lettered', cause: 'destination' });
    const found = await record();
    expect(found).toMatchObject({ status: 'failed', attempt_count: 0, attempts: [] });
    expect(found && reasonOf(found)).toBe(reason);
    expect(reasons).toMatchObject([{ reason, cause: 'destination' }]);
    expect(await stored()).toHaveLength(1);
    expect(transport).toHaveBeenCalledTimes(sendCount);
  });

  it('is decided once: when it is sent, or before it is listed in a summary', async () => {
    const refusalOf = vi.fn(async () => undefined);
    await setUp('email', delivered, { refusalOf }).deliver();
    expect(refusalOf).not.toHaveBeenCalled();
    const { deliver, transport } = setUp('email', delivered, { refusalOf, ...summarizing });
    expect(await deliver()).toMatchObject({ kind: 'summarized' });
    expect(refusalOf).toHaveBeenCalledOnce();
    expect(transport).not.toHaveBeenCalled();
  });

  it('is tried again if it is unknown whether it is refused', async () => {
    const { deliver, record, transport } = setUp('email', delivered, {
      refusalOf: () => Promise.reject(new Error('no response')),
      ...summarizing,
    });
    expect(await deliver()).toMatchObject({ kind: 'internal_error' });
    expect(await record()).toMatchObject(unclaimed);
    expect(transport).not.toHaveBeenCalled();
  });
});

describe('the log of a failed delivery', () => {
  // The rule of failing tenants reads these fields.
  it.each<[string, AttemptOutcome]>([
    ['called', rejected],
    ['not_called', failed('permanent', 'opted_out', '')],
  ])('says whether the destination was called: %s', async (destination, outcome) => {
    await setUp('email', outcome).deliver();
    const fields = { cause: 'destination', destination, tenant_id: 'acme' };
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('delivery failed', expect.objectContaining(fields));
  });
});

describe('a notice', () => {
  it.each(['no_contacts', 'opted_out', 'complained', 'bounced', 'email_off'] as const)(
    'without a recipient is cancelled for this reason, without a dead letter: %s',
    async (reason) => {
      const { deliver, record, deadLetters } = setUp('email', failed('permanent', reason, ''), { changes: { notice } });
      expect(await deliver()).toMatchObject({ kind: 'cancelled' });
      const found = await record();
      expect(found).toMatchObject({ status: 'cancelled' });
      expect(found && reasonOf(found)).toBe(reason);
      expect(deadLetters).toEqual([]);
    },
  );

  it('to a notification that was deleted while it failed is cancelled without a reason', async () => {
    const throttled = failed('throttled', 'throttled', '', { countsAsAttempt: false });
    const changes = { notice, notification_id: newNotificationId() };
    await setUp('email', throttled, { changes }).deliver();
    const { deliver, record } = setUp('email', throttled, { changes, clock: () => NOW_MS + 1_000 });
    expect(await deliver(Promise.resolve(undefined))).toMatchObject({ kind: 'cancelled' });
    const found = await record();
    expect(found && reasonOf(found)).toBeUndefined();
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

describe('an alert to a notification that is muted', () => {
  const mutes = [
    { from_ms: NOW_MS - 20_000, until_ms: NOW_MS - 10_000 },
    { from_ms: NOW_MS, until_ms: NOW_MS + 1 },
  ];
  const ok = alertContent(alarmEvent({ details: { state: 'OK' } }));
  const summary = { notice: { ...notice, kind: 'summary' } } as const;

  it.each([
    ['is not sent if SQS accepted its event meanwhile', 'incidentpager', {}, false],
    ['is not sent if SQS accepted its event in an earlier mute', 'email', { accepted_at_ms: NOW_MS - 10_001 }, false],
    ['is sent if SQS accepted its event before', 'email', { accepted_at_ms: NOW_MS - 1 }, true],
    ['is sent if SQS accepted its event after the end', 'email', { accepted_at_ms: NOW_MS + 1 }, true],
    ['is sent if it ends an incident', 'incidentpager', ok, true],
    ['is sent if it is the OK of an ordered webhook', 'webhook', { ...ok, ordered: true }, true],
    ['is not sent if it is the OK of another webhook', 'webhook', ok, false],
    ['is sent if it is a summary, whose alerts were not muted', 'email', summary, true],
    ['is not sent if it is an escalation queued meanwhile', 'email', { notice, accepted_at_ms: NOW_MS - 1 }, false],
  ] as const)('%s', async (_, type, changes, isSent) => {
    const summarizedAlerts = {
      read: async () => ({ alarmCounts: { CRITICAL: 1, WARNING: 0, OK: 0 }, unread: 0, alarms: [] }),
    };
    const { deliver, record } = setUp(type, delivered, { changes, summarizedAlerts });
    const result = await deliver(Promise.resolve({ id: 'nt', type, details: {}, mutes }));
    expect(result.kind).toBe(isSent ? 'delivered' : 'cancelled');
    const found = await record();
    expect(found && reasonOf(found)).toBe(isSent ? undefined : 'muted');
  });

  it('is sent if it repeats an event that SQS accepted before', async () => {
    const notification_id = newNotificationId();
    const target = { id: notification_id, type: 'webhook', details: {}, mutes } as const;
    const first = { notification_id, accepted_at_ms: NOW_MS - 1 };
    await setUp('webhook', failed('transient', 'timeout', ''), { changes: first }).deliver(Promise.resolve(target));
    const repeated = setUp('webhook', delivered, { changes: { notification_id }, clock: () => NOW_MS + 60_000 });
    expect(await repeated.deliver(Promise.resolve(target))).toMatchObject({ kind: 'delivered' });
  });
});

it('a delivery that is claimed while its target is read is forwarded to the sender of its new type, which can claim it', async () => {
  const { job, deliver, transport, record, delayed } = setUp('webhook', rejected);
  const { notification_id: id } = job.body;
  expect(await deliver(Promise.resolve({ id, type: 'email', details: {} }))).toMatchObject({ kind: 'forwarded' });
  expect(transport).not.toHaveBeenCalled();
  expect(delayed).toEqual([{ url: senderQueueUrls.email, waitMs: 0 }]);
  expect(await record()).toMatchObject(unclaimed);
});

describe('a summary', () => {
  const summaryNotice: NoticeContent = { ...notice, kind: 'summary' };
  const summaryWith = (count: number): Summary => ({
    alarmCounts: { CRITICAL: count, WARNING: 0, OK: 0 },
    unread: 0,
    alarms: [],
  });
  const setUpSummary = (summary: Summary | undefined, changes: Partial<Delivery> = {}) => {
    const summarizedAlerts = { read: async () => summary };
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

describe('an alert that is summarized', () => {
  const MINUTE_MS = 60_000;
  const overLimit = failed('permanent', 'tenant_limit_exceeded', '', { canBeSummarized: true });
  const slow = { clock: () => NOW_MS - 10 * MINUTE_MS };

  it.each<[string, AttemptOutcome, Options, number]>([
    ['of its window, a minute after its end', delivered, summarizing, 2],
    ['of the window by the clock of SQS, if that of its sender is slow', delivered, { ...summarizing, ...slow }, 12],
    ['of the hour near the daily limit', delivered, { ...summarizing, isNearLimit: async () => true }, 61],
    ['of the hour above the daily limit', overLimit, {}, 61],
  ])('is listed in the summary %s', async (_, outcome, options, waitMinutes) => {
    const { deliver, delayed } = setUp('email', outcome, options);
    expect(await deliver()).toMatchObject({ kind: 'summarized' });
    expect(delayed).toEqual([{ url: queueUrl('email-Retries'), waitMs: waitMinutes * MINUTE_MS }]);
  });

  it('is sent at once if its sender crashed after it was counted among the first of its window', async () => {
    const addFirst = vi.fn(async () => true).mockResolvedValueOnce(false);
    const { deliver, record } = setUp('email', delivered, { ...summarizing, summarizedAlerts: { addFirst } });
    expect(await deliver()).toMatchObject({ kind: 'summarized' });
    const crashed = { status: 'pending', summary_id: undefined, claim_id: 'crashed', lease_until_ms: NOW_MS - 1 };
    await client.send(new PutCommand({ TableName: 'deliveries', Item: { ...(await record()), ...crashed } }));
    expect(await deliver()).toMatchObject({ kind: 'delivered' });
  });

  it('and was received before is sent again: by a slow clock, the summary of its window may have been sent', async () => {
    const { deliver, delayed, record } = setUp('email', delivered, { ...summarizing, ...slow, receiveCount: 2 });
    expect(await deliver()).toMatchObject({ kind: 'not_due' });
    expect(delayed).toEqual([{ url: queueUrl('email-Retries'), waitMs: 0 }]);
    expect(await record()).toMatchObject({ status: 'pending', lease_until_ms: 0 });
  });
});

describe('an event of an incident', () => {
  const setUpEvent = (
    notification_id: string,
    id: string,
    times: { produced: number; accepted: number },
    options = {},
  ) => {
    const details = { state: 'CRITICAL' as const, timestamp: times.produced };
    const event = eventHeader(alarmEvent({ event_id: id, details }), times.accepted);
    const changes = { notification_id, event, accepted_at_ms: times.accepted };
    return setUp('incidentpager', delivered, { changes, timeLeft: () => 30_000, ...options });
  };

  it('is superseded with a reason if SQS accepted it more than 60 s after one with a newer timestamp', async () => {
    const id = newNotificationId();
    await setUpEvent(id, 'newer', { produced: NOW_MS, accepted: NOW_MS }).deliver();
    const { deliver } = setUpEvent(id, 'older', { produced: NOW_MS - 3_600_000, accepted: NOW_MS + 60_001 });
    expect(await deliver()).toMatchObject({ kind: 'superseded', hasOlderTimestamp: true });
    const reported = expect.objectContaining({ reason: 'older_timestamp', event_id: 'older', tenant_id: 'acme' });
    expect(logger.warn).toHaveBeenCalledWith('event superseded', reported);
  });

  it('keeps the lock, and its message returns, if the lock cannot be advanced after it was delivered', async () => {
    let timeLeftMs = 30_000;
    const advanceAndRelease = async (): Promise<never> => {
      timeLeftMs = 12_000;
      throw new Error('no response');
    };
    const incidentLocks = { ...createIncidentLocks(client, 'deliveries'), advanceAndRelease };
    const options = { incidentLocks, timeLeft: () => timeLeftMs };
    const id = newNotificationId();
    const { deliver, delayed } = setUpEvent(id, 'first', { produced: NOW_MS, accepted: NOW_MS }, options);
    expect(await deliver()).toMatchObject({ kind: 'delivered', isReturned: true, isInternalError: true });
    expect(logger.error).toHaveBeenCalledExactlyOnceWith('internal error', expect.anything());
    expect(delayed).toEqual([{ url: senderQueueUrls.incidentpager, waitMs: 2_000 }]);
    expect(await setUpEvent(id, 'second', { produced: NOW_MS - 1, accepted: NOW_MS }).deliver()).toMatchObject({
      kind: 'busy',
    });
  });
});

it('an attempt is told whether an earlier one may have arrived', async () => {
  let nowMs = NOW_MS;
  const { transport, deliver } = setUp('atomfeed', failed('transient', 'timeout', ''), { clock: () => nowMs });
  await deliver();
  nowMs += 10_000;
  await deliver();
  expect(transport.mock.calls.map(([{ mayHaveArrived }]) => mayHaveArrived)).toEqual([false, true]);
});

it('a round without an attempt expires after four days, with the cause "service"', async () => {
  const HOUR_MS = 3_600_000;
  const quotaExceeded = failed('throttled', 'aws_quota_exceeded', '', { cause: 'service', countsAsAttempt: false });
  const { job, deliveries, deliver, record, reasons } = setUp('email', quotaExceeded);
  const startMs = NOW_MS - 97 * HOUR_MS;
  const first = claimedRecord(job.body, 'earlier', startMs, 'webhook');
  await deliveries.claim(first, startMs);
  // The last attempt was due an hour ago, as it is if SES or SNS delays each of them.
  await deliveries.update(first, withNextAttempt(withAttempt(first, quotaExceeded, startMs, 10), NOW_MS - HOUR_MS));
  expect(await deliver()).toMatchObject({ kind: 'dead_lettered' });
  expect(reasons).toEqual([{ reason: 'expired', cause: 'service', attemptCount: 0 }]);
  expect(await record()).toMatchObject({ status: 'failed', round: 1 });
});

describe('an alert to several contacts, one of which was reached', () => {
  const type = 'technicalContactsEmail';
  const reachingOne = (failure: AttemptOutcome): AttemptOutcome => ({ ...failure, reachedRecipientHashes: ['a'] });
  const throttled = reachingOne(failed('throttled', 'throttled', ''));
  const overLimit = reachingOne(failed('permanent', 'tenant_limit_exceeded', '', { canBeSummarized: true }));

  /** DynamoDB fails after the claim, until no time is left to repeat the write. */
  const setUpOutage = (outcome: AttemptOutcome, options: Options = {}) => {
    const update = () => Promise.reject(new Error('no response'));
    const deliveries = { ...createDeliveries(client), update };
    let timeLeftMs = 20_000;
    const transport = async () => {
      timeLeftMs = 13_000;
      return outcome;
    };
    return setUp(type, outcome, { deliveries, transport, timeLeft: () => timeLeftMs, ...options });
  };

  it.each([
    ['is throttled for another', throttled],
    ['is rejected for another', reachingOne(rejected)],
    ['is above the limit for another', overLimit],
  ])('%s is sent again to the others only, also if the record cannot be written', async (_, outcome) => {
    const { deliver, delayed, copies } = setUpOutage(outcome);
    const result = await deliver();
    expect(result).toMatchObject({ kind: 'internal_error' });
    expect(result.isReturned).toBeUndefined();
    expect(delayed.at(-1)).toEqual({ url: queueUrl(`${type}-Retries`), waitMs: LEASE_MS + 1_000 });
    const changes = copies.at(-1) ?? {};
    const next = setUp(type, delivered, { changes, clock: () => NOW_MS + LEASE_MS + 1_000 });
    await next.deliver();
    expect(next.transport.mock.calls).toMatchObject([[{ reachedRecipientHashes: ['a'] }, {}, {}]]);
  });

  it('keeps its message if neither the record nor a copy can be written, or if nobody else was reached', async () => {
    const refused = setUpOutage(throttled);
    const again = setUpOutage(throttled, { changes: { reached_recipient_hashes: ['a'] } });
    vi.spyOn(refused.queues, 'sendDelayed').mockRejectedValue(new Error('no response'));
    for (const { deliver, delayed } of [refused, again]) {
      expect(await deliver()).toMatchObject({ kind: 'internal_error', isReturned: true });
      expect(delayed).toEqual([{ url: senderQueueUrls[type], waitMs: 2_000 }]);
    }
  });

  it('is sent to the others instead of being listed in a summary, also if the attempt could not be recorded', async () => {
    const changes = { reached_recipient_hashes: ['a'] };
    expect(await setUp(type, delivered, { changes, ...summarizing }).deliver()).toMatchObject({ kind: 'delivered' });
  });

  it('is retried with those who were reached in its message, in case another worker has claimed the record', async () => {
    const deliveries = { ...createDeliveries(client), update: async () => undefined };
    const { deliver, copies } = setUp(type, throttled, { deliveries });
    expect(await deliver()).toMatchObject({ kind: 'retried' });
    expect(copies).toMatchObject([{ reached_recipient_hashes: ['a'] }]);
  });
});

describe('a heartbeat', () => {
  /** Delivers a heartbeat that SQS accepted some time ago. It is never sent again. */
  const deliverHeartbeat = async (outcome: AttemptOutcome, { ageMs = 0, times = 1, isReadable = true } = {}) => {
    const { event, payload } = alertContent(heartbeatEvent(newNotificationId(), '2026-01-01T00:00:00Z'));
    const target = unstoredTarget(event.tenant_id);
    const changes = { notification_id: target?.id ?? '', event, payload, accepted_at_ms: NOW_MS - ageMs };
    const { deliver, transport, record, delayed, deadLetters } = setUp('webhook', outcome, { changes });
    for (let time = 0; time < times; time++) {
      const read = isReadable ? Promise.resolve(target) : Promise.reject(new Error('no table'));
      expect(await deliver(read)).toEqual({ kind: 'heartbeat' });
    }
    const again = [...delayed, ...deadLetters];
    return { attempts: transport.mock.calls.length, again, record: (await record()) ?? null };
  };
  const notDelivered = ['heartbeat not delivered', expect.anything()];

  it.each<[string, AttemptOutcome, object, number, object | null, unknown[][]]>([
    ['is sent once, also if SQS delivers it twice', delivered, { times: 2 }, 1, { status: 'delivered' }, []],
    ['that fails is only logged and recorded', rejected, {}, 1, { status: 'failed', attempt_count: 1 }, [notDelivered]],
    ['is given up after an internal error', delivered, { isReadable: false }, 0, { status: 'pending' }, [notDelivered]],
    ['is sent 5 minutes after SQS accepted it', delivered, { ageMs: 300_000 }, 1, { status: 'delivered' }, []],
    ['is not sent later', delivered, { ageMs: 300_001 }, 0, null, [['heartbeat too late', expect.anything()]]],
  ])('%s', async (_, outcome, options, attempts, record, logged) => {
    expect(await deliverHeartbeat(outcome, options)).toMatchObject({ attempts, again: [], record });
    expect(vi.mocked(logger.error).mock.calls).toEqual(logged);
  });
});
