import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createFailureReader } from '../../shared/adapters/deliveries/notification-failures.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import type { Queues } from '../../shared/adapters/queues.ts';
import { deliveryId, recipientHash } from '../../shared/domain/delivery-key.ts';
import { claimedRecord, type DeliveryRecord, withStatus } from '../../shared/domain/delivery-record.ts';
import { emailTags, tenantTag } from '../../shared/domain/email-event.ts';
import { DEFAULT_NOTIFICATION_ID, newNotificationId } from '../../shared/domain/notification-id.ts';
import { createEmailEventRecorder } from '../../shared/pipeline/email-events.ts';
import { audit } from '../support/audit.ts';
import { writeRecords } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { withThrottling } from '../support/dynamodb-faults.ts';
import { alarmEvent, alarmHeader, readDelivery } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';
import { reportEnvironment } from '../support/report-environment.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client, connect } = useDatabase();
const deliveries = createDeliveryRepository(client, 'deliveries');

const NOW_MS = Date.UTC(2026, 0, 1);
const environment = {
  ...reportEnvironment,
  DELIVERIES_TABLE: 'deliveries',
  NOTIFICATIONS_TABLE: 'notifications',
  EMAIL_EVENTS_QUEUE: 'https://sqs/email-events',
};

/** The notices that the recorder queued. */
let queuedNotices: [url: string, kind: string | undefined, subject: string | undefined][] = [];
/** The visibility changes of the recorder. */
let visibilityChanges: [url: string, messageId: string, timeoutMs: number][] = [];
const queues = {
  changeVisibility: async (url: string, { messageId }: SQSRecord, timeoutMs: number) => {
    visibilityChanges.push([url, messageId, timeoutMs]);
  },
  sendDelayed: async (url: string, { body }: { body: string }) => {
    const { notice } = readDelivery(body);
    queuedNotices.push([url, notice?.kind, notice?.subject]);
  },
};

/** Invokes a recorder with a batch. @returns the IDs of the batch item failures */
const recordBatch = async (
  messages: readonly Partial<SQSRecord>[],
  database = client,
  queue: Pick<Queues, 'changeVisibility' | 'sendDelayed'> = queues,
) => {
  const recorder = createEmailEventRecorder(database, queue, environment, () => NOW_MS);
  const { batchItemFailures } = await recorder({ Records: messages.map(sqsMessage) });
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
};

const record = (event: unknown) => recordBatch([{ body: event === undefined ? '' : JSON.stringify(event) }]);

/** The logs and metrics of the recorder. */
let written = '';
beforeEach(() => {
  vi.stubEnv('STACK_NAME', 'local');
  written = '';
  visibilityChanges = [];
  queuedNotices = [];
  const append = (text: string | Uint8Array) => {
    written += text;
    return true;
  };
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockImplementation(append);
  return () => vi.restoreAllMocks();
});

/** The metrics of a batch with internal errors. */
const batchMetricNames = ['internal_errors', 'oldest_unprocessed_seconds'];
const countedMetrics = () =>
  (written.match(/"Name":"\w+"/g) ?? [])
    .map((name) => name.slice(8, -1))
    .filter((name) => !batchMetricNames.includes(name));

const batchMetricsLine = z.object({
  service: z.string(),
  function: z.string(),
  internal_errors: z.number(),
  oldest_unprocessed_seconds: z.number(),
});
/** The metrics of each batch with internal errors, with their dimensions. */
const batchMetrics = () =>
  written
    .split('\n')
    .filter((line) => line.includes('oldest_unprocessed_seconds'))
    .map((line) => batchMetricsLine.parse(JSON.parse(line)));

const claimedBy = (notification_id: string, claimId: string, nowMs: number) =>
  claimedRecord({ event: alarmHeader(), notification_id, accepted_at_ms: nowMs, content_hash: 'hash' }, claimId, nowMs);

/** The recipient of emails, which appears in no log and no record. */
const RECIPIENT = 'secret@example.com';
const hashOf = (id: string, address: string) => recipientHash(deliveryId(alarmEvent(), id), address);

/**
 * Records a delivery to a new notification, whose email SES accepted. By default, the event also goes to the default
 * notification.
 */
const recordDelivery = async (
  status: 'delivered' | 'failed' | 'superseded' | 'cancelled' | 'pending',
  leaseUntilMs = 0,
  attributes: Partial<DeliveryRecord> = {},
) => {
  const id = newNotificationId();
  const claimed = {
    ...claimedBy(id, 'owner', NOW_MS - 1_000),
    reached_recipient_hashes: [hashOf(id, RECIPIENT)],
    siblings: [DEFAULT_NOTIFICATION_ID],
    ...attributes,
  };
  await deliveries.claim(claimed, NOW_MS - 1_000);
  await deliveries.update(
    claimed,
    status === 'pending' ? { ...claimed, lease_until_ms: leaseUntilMs } : withStatus(claimed, status, NOW_MS - 1_000),
  );
  return { id, claimed, tags: emailTags(alarmEvent(), id) };
};

const asLists = (tags: Record<string, string>) =>
  Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, [value]]));

/** Returns an SES event as SNS sends it to a queue. */
const emailEvent = (
  eventType: 'Bounce' | 'Complaint' | 'Reject',
  tags: Record<string, string> = {},
  { recipient = RECIPIENT, bounceType = 'Permanent' } = {},
) => ({
  eventType,
  bounce: {
    bounceType,
    bouncedRecipients: [{ emailAddress: 'secret@example.com', diagnosticCode: 'smtp; 550 secret' }],
  },
  mail: {
    messageId: '0100019aexample-000000',
    source: 'notifications@example.com',
    destination: [recipient],
    commonHeaders: { subject: 'secret subject' },
    tags: { 'ses:configuration-set': ['notifications'], 'ses:from-domain': ['example.com'], ...asLists(tags) },
  },
});

describe('a bounced or rejected email', () => {
  it.each([
    ['Bounce', 'email_bounces', 'bounced'],
    ['Reject', 'email_rejects', 'rejected'],
  ] as const)(
    'sets only the status, the reason and the recipient of its delivery: %s',
    async (kind, metric, reason) => {
      const { claimed, tags } = await recordDelivery('delivered');
      await record(emailEvent(kind, tags));
      expect(await deliveries.read(claimed)).toEqual({
        ...withStatus(claimed, 'bounced', NOW_MS),
        last_reason: reason,
        bounced_recipient_hashes: new Set(claimed.reached_recipient_hashes),
        bounce_reason: reason,
      });
      expect(countedMetrics()).toEqual([metric]);
    },
  );

  it('counts repeated events separately', async () => {
    const { id, claimed, tags } = await recordDelivery('delivered');
    for (let count = 0; count < 3; count++) await record(emailEvent('Bounce', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
    expect(countedMetrics()).toEqual(['email_bounces', 'email_events_repeated', 'email_events_repeated']);
    const failures = await Array.fromAsync(
      createFailureReader(client, 'deliveries', () => NOW_MS).list(alarmEvent().tenant_id, id, 100),
    );
    expect(failures.flat().find(({ notificationId }) => notificationId === id)).toMatchObject({
      failedCount: 1,
      lastReason: 'bounced',
    });
  });

  it.each(['failed', 'cancelled'] as const)(
    'makes a delivery that is %s bounced, because it has reached nobody else',
    async (status) => {
      const { claimed, tags } = await recordDelivery(status);
      await record(emailEvent('Bounce', tags));
      expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced', last_reason: 'bounced' });
    },
  );

  it('does not change the status of a delivery whose destination has since become one without recipients', async () => {
    const { claimed, tags } = await recordDelivery('delivered', 0, { reached_recipient_hashes: [] });
    await record(emailEvent('Bounce', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'delivered' });
  });

  it('counts for the only recipient if SES names none', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    const event = emailEvent('Bounce', tags);
    await record({ ...event, mail: { ...event.mail, destination: undefined } });
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
  });
});

describe('the technical contacts', () => {
  const kinds = () => queuedNotices.map(([url, kind]) => [url.split('/').at(-1), kind]);

  it.each(['Bounce', 'Complaint', 'Reject'] as const)('are notified of the event %s', async (kind) => {
    const { tags } = await recordDelivery('delivered');
    await record(emailEvent(kind, tags));
    expect(kinds()).toEqual([['contacts', 'failing']]);
  });

  it('are not notified of a bounce that is not permanent', async () => {
    const { tags } = await recordDelivery('delivered');
    await record(emailEvent('Bounce', tags, { bounceType: 'Transient' }));
    expect(kinds()).toEqual([]);
  });

  it('are notified once a day of complaints, whenever the emails were delivered', async () => {
    const id = newNotificationId();
    const dayMs = 86_400_000;
    const eventIds: string[] = [];
    const queue = {
      ...queues,
      sendDelayed: async (_url: string, { body }: { body: string }) => {
        eventIds.push(readDelivery(body).event.event_id);
      },
    };
    const messages = await Promise.all(
      [1, 2, 3].map(async (daysAgo) => {
        const event = alarmHeader({ event_id: `acme:${daysAgo}` });
        const nowMs = NOW_MS - daysAgo * dayMs;
        const delivered = { event, notification_id: id, accepted_at_ms: nowMs, content_hash: 'hash' };
        await writeRecords(client, 'deliveries', [
          withStatus(claimedRecord(delivered, 'owner', nowMs), 'delivered', nowMs),
        ]);
        const { attributes } = sqsMessage();
        return {
          body: JSON.stringify(emailEvent('Complaint', emailTags(event, id))),
          attributes: { ...attributes, SentTimestamp: String(NOW_MS) },
        };
      }),
    );
    for (const message of messages) await recordBatch([message], client, queue);
    expect(eventIds).toHaveLength(3);
    expect(new Set(eventIds)).toEqual(new Set([`acme:${id}:${NOW_MS}:failing`]));
  });

  it.each(['Bounce', 'Complaint', 'Reject'] as const)(
    'are not notified that a notice caused the event %s',
    async (kind) => {
      const { tags } = await recordDelivery('delivered', 0, { notice: 'failing', siblings: [] });
      await record(emailEvent(kind, tags));
      expect(kinds()).toEqual([]);
    },
  );

  it('and the operators are notified if the only destination of an alert bounces', async () => {
    const { tags } = await recordDelivery('delivered', 0, { siblings: [] });
    await record(emailEvent('Bounce', tags));
    expect(kinds().toSorted()).toEqual([
      ['contacts', 'failing'],
      ['contacts', 'unreached'],
      ['managed', 'unreached'],
    ]);
    expect(queuedNotices.map(([, , subject]) => subject)).toContain(
      'CRITICAL on enAAAA: its only destination could not be reached',
    );
  });

  it('are notified when the event is received again if the notice cannot be queued, and the bounce stays recorded', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    const body = JSON.stringify(emailEvent('Bounce', tags));
    const queue = { ...queues, sendDelayed: () => Promise.reject(new Error('secret')) };
    expect(await recordBatch([{ body }], client, queue)).toHaveLength(1);
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
    expect(written).toContain('"internal_errors":1');
    expect(written).not.toContain('secret');
    expect(await recordBatch([{ body }])).toEqual([]);
    expect(kinds()).toContainEqual(['contacts', 'failing']);
  });
});

describe('an email event that is received again', () => {
  const again = { ...sqsMessage().attributes, ApproximateReceiveCount: '2' };

  it.each([
    ['Bounce', 'email_bounces'],
    ['Complaint', 'email_events_repeated'],
  ] as const)('counts as %s by what it changes: %s', async (kind, metric) => {
    const { tags } = await recordDelivery('delivered');
    await recordBatch([{ body: JSON.stringify(emailEvent(kind, tags)), attributes: again }]);
    expect(countedMetrics()).toEqual([metric]);
  });
});

describe('an email to several recipients', () => {
  /** Records a delivery that reached two technical contacts. */
  const recordTwo = async () => {
    const id = newNotificationId();
    const reached_recipient_hashes = ['a@example.com', 'b@example.com'].map((address) => hashOf(id, address));
    const claimed = { ...claimedBy(id, 'owner', NOW_MS), reached_recipient_hashes };
    await deliveries.claim(claimed, NOW_MS);
    await deliveries.update(claimed, withStatus(claimed, 'delivered', NOW_MS));
    const bounce = (recipient: string) => record(emailEvent('Bounce', emailTags(alarmEvent(), id), { recipient }));
    return { claimed, bounce };
  };

  it('does not count as bounced if SES reports two emails to one recipient, as after a send that timed out', async () => {
    const { claimed, bounce } = await recordTwo();
    for (let time = 0; time < 3; time++) await bounce('a@example.com');
    await bounce('someone-else@example.com');
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'delivered' });
  });
});

describe('a batch of email events', () => {
  const attributes = (ageSeconds: number, receiveCount = 1) => ({
    ApproximateReceiveCount: String(receiveCount),
    SentTimestamp: String(NOW_MS - ageSeconds * 1_000),
    SenderId: 'events.amazonaws.com',
    ApproximateFirstReceiveTimestamp: '0',
  });
  const throttledOnce = () => withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand', 1);

  it('returns only the messages whose write failed', async () => {
    const [throttledDelivery, healthyDelivery] = [await recordDelivery('delivered'), await recordDelivery('delivered')];
    const messages = [throttledDelivery, healthyDelivery].map(({ tags }, index) => ({
      messageId: `message-${index}`,
      body: JSON.stringify(emailEvent('Bounce', tags)),
      attributes: attributes(300 - index, 7),
    }));
    expect(await recordBatch(messages, throttledOnce())).toEqual(['message-0']);
    expect(visibilityChanges).toEqual([['https://sqs/email-events', 'message-0', 90_000]]);
    expect(await deliveries.read(healthyDelivery.claimed)).toMatchObject({ status: 'bounced' });
    expect(batchMetrics()).toMatchObject([
      { function: 'record-email-events', internal_errors: 1, oldest_unprocessed_seconds: 300 },
    ]);
  });

  it('emits no batch metrics if nothing fails', async () => {
    await record(emailEvent('Complaint'));
    expect(batchMetrics()).toEqual([]);
  });

  it('reports a message as failed even if its visibility cannot be changed', async () => {
    const { tags } = await recordDelivery('delivered');
    const queue = { ...queues, changeVisibility: () => Promise.reject(new Error('secret')) };
    const body = JSON.stringify(emailEvent('Bounce', tags));
    expect(await recordBatch([{ body }], throttledOnce(), queue)).toEqual(['message-1']);
    expect(written).toContain('visibility change failed');
    expect(written).not.toContain('secret');
  });
});

describe('an email event', () => {
  it('for a complaint does not change the delivery', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    await record(emailEvent('Complaint', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'delivered' });
    expect(countedMetrics()).toEqual(['email_complaints']);
  });

  it('for the email of a test is counted', async () => {
    await record(emailEvent('Bounce'));
    expect(countedMetrics()).toEqual(['email_bounces']);
  });

  it('is logged without recipients, subjects or server responses', async () => {
    const { id, tags } = await recordDelivery('delivered');
    await record(emailEvent('Bounce', tags));
    expect(written).toContain(`"notification_id":"${id}"`);
    expect(written).toContain('"tenant_id":"acme"');
    expect(written).not.toContain('secret');
  });
});

describe('an email that reaches the server of its recipient', () => {
  const ACCEPTED = '2026-01-01T00:00:03.250Z';
  const EARLIER = '2026-01-01T00:00:01.000Z';
  const delivery = (tags: Record<string, string>, timestamp = ACCEPTED) => ({
    ...emailEvent('Bounce', tags),
    eventType: 'Delivery',
    bounce: undefined,
    delivery: { timestamp, recipients: [RECIPIENT], smtpResponse: '250 secret' },
  });
  const delay = (tags: Record<string, string>, timestamp = ACCEPTED) => ({
    ...emailEvent('Bounce', tags),
    eventType: 'DeliveryDelay',
    bounce: undefined,
    deliveryDelay: { timestamp, delayType: 'MailboxFull', delayedRecipients: [{ emailAddress: RECIPIENT }] },
  });

  it('is recorded with the time of the server, and counted without a log line', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    await recordBatch([{ body: JSON.stringify(delivery(tags)) }]);
    expect(await deliveries.read(claimed)).toEqual({
      ...withStatus(claimed, 'delivered', NOW_MS - 1_000),
      confirmed_at_ms: Date.parse(ACCEPTED),
    });
    expect(countedMetrics()).toEqual(['email_confirmations']);
    expect(written.trim().split('\n')).toHaveLength(1);
  });

  it('is counted with the others of its batch', async () => {
    const first = await recordDelivery('delivered');
    const second = await recordDelivery('delivered');
    await recordBatch([first, second].map(({ tags }) => ({ body: JSON.stringify(delivery(tags)) })));
    expect(written).toContain('"email_confirmations":2');
  });

  it('was delayed before, if SES says so', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    await record(delay(tags));
    expect(await deliveries.read(claimed)).toMatchObject({ delayed_at_ms: Date.parse(ACCEPTED) });
    expect(countedMetrics()).toEqual(['email_delays']);
  });

  it('keeps the last time of several contacts, in whatever order and how often they are reported', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    for (const event of [delivery(tags), delivery(tags, EARLIER), delivery(tags)]) await record(event);
    expect(await deliveries.read(claimed)).toMatchObject({ confirmed_at_ms: Date.parse(ACCEPTED) });
    expect(countedMetrics()).toEqual(['email_confirmations']);
  });

  it('stays recorded if its sender records the attempt later, it bounces, and it is delivered again', async () => {
    const { claimed, tags } = await recordDelivery('pending', NOW_MS + 10_000);
    const held = { ...claimed, lease_until_ms: NOW_MS + 10_000 };
    await record(delivery(tags));
    await record(delay(tags, EARLIER));
    const times = { confirmed_at_ms: Date.parse(ACCEPTED), delayed_at_ms: Date.parse(EARLIER) };
    expect(await deliveries.update(held, withStatus(held, 'failed', NOW_MS))).toMatchObject(times);
    await record(emailEvent('Bounce', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced', ...times });
    const second = { ...claimed, claim_id: 'another', round: 2, lease_until_ms: NOW_MS + 20_000 };
    await deliveries.claim(second, NOW_MS + 11_000);
    expect(await deliveries.read(claimed)).toMatchObject(times);
  });

  it('changes nothing without a record, as an email of a test', async () => {
    const tags = emailTags(alarmEvent(), newNotificationId());
    expect(
      await recordBatch([{ body: JSON.stringify(delivery(tags)) }, { body: JSON.stringify(delivery({})) }]),
    ).toEqual([]);
    expect(written).toBe('');
  });
});

describe('the emails of a tenant', () => {
  let count = 0;
  /** Reports problems of emails of tests, which have no record. */
  const problems = (tenant: string, event: object, times: number) =>
    Array.from({ length: times }, () => ({
      body: JSON.stringify({
        ...event,
        mail: { messageId: `email-${count++}`, tags: { tenant: [tenantTag(tenant)] } },
      }),
    }));
  const bounce = { eventType: 'Bounce', bounce: { bounceType: 'Permanent', timestamp: '2026-01-01T00:00:00Z' } };
  const isPaused = (tenant: string) => createAccountRepository(client, 'accounts').isEmailPaused(tenant);

  it('are paused at the fifth bounce, also of tests, which operators and fallback notifications of other types learn once', async () => {
    const tenant = 'bouncing';
    const types = ['sms', 'email', 'managed'] as const;
    const notifications = createNotificationRepository(client, 'notifications');
    const limit = async () => 10;
    const fallbacks = await Promise.all(
      types.map((type) =>
        notifications.create(tenant, { label: type, type, details: validDetails[type] }, audit, limit),
      ),
    );
    await createAccountRepository(client, 'accounts').update(tenant, { escalation_notifications: fallbacks }, audit);
    await recordBatch(problems(tenant, bounce, 4));
    expect(await isPaused(tenant)).toBe(false);
    await recordBatch(problems(tenant, bounce, 2));
    expect(await isPaused(tenant)).toBe(true);
    await recordBatch(problems(tenant, bounce, 1));
    expect(countedMetrics().filter((name) => name === 'email_pauses')).toHaveLength(1);
    const told = queuedNotices.filter(([, kind]) => kind === 'paused').map(([url]) => url.split('/').at(-1));
    // The record of the notice makes what further reports queue a duplicate.
    expect(new Set(told)).toEqual(new Set(['managed', 'sms']));
    expect(written).not.toContain('@');
  });

  it('are paused by complaints that are repeated after the function could not tell anybody, who is then told', async () => {
    const tenant = 'complained';
    const complaint = { eventType: 'Complaint', complaint: { timestamp: '2026-01-01T00:00:00Z' } };
    const messages = problems(tenant, complaint, 3);
    const queue = { ...queues, sendDelayed: () => Promise.reject(new Error('no response')) };
    expect(await recordBatch(messages, client, queue)).not.toEqual([]);
    expect(queuedNotices).toEqual([]);
    const attributes = { ...sqsMessage().attributes, ApproximateReceiveCount: '2' };
    expect(await recordBatch(messages.map((message) => ({ ...message, attributes })))).toEqual([]);
    expect(queuedNotices).toContainEqual([
      expect.stringMatching(/managed$/),
      'paused',
      'Email is paused: too many were reported as spam',
    ]);
    expect(countedMetrics()).toContain('email_pauses');
  });

  it.each([
    ['bounces that are not permanent', { eventType: 'Bounce', bounce: { bounceType: 'Transient' } }],
    ['rejected content', { eventType: 'Reject' }],
    ['reports that it is no spam', { eventType: 'Complaint', complaint: { complaintFeedbackType: 'not-spam' } }],
  ])('are not paused because of %s', async (name, event) => {
    const tenant = name.replaceAll(' ', '-');
    await recordBatch(problems(tenant, event, 10));
    expect(await isPaused(tenant)).toBe(false);
  });
});

describe('a message that is not an email event', () => {
  const deeplyNested = JSON.parse('['.repeat(500) + ']'.repeat(500));
  it.each([
    ['an empty body', undefined],
    ['a string', 'Bounce'],
    ['deep nesting', deeplyNested],
    ['the test of SES', 'Successfully validated SNS topic for Amazon SES event publishing.'],
    ['another event type', { ...emailEvent('Bounce'), eventType: 'Send' }],
    ['a delivery without a time', { ...emailEvent('Bounce'), eventType: 'Delivery' }],
    ['a time that is none', { ...emailEvent('Bounce'), eventType: 'Delivery', delivery: { timestamp: 'soon' } }],
    ['an ID with a line break', { eventType: 'Bounce', mail: { messageId: 'a\nb', tags: {} } }],
    ['a tag with two values', { eventType: 'Bounce', mail: { messageId: 'a', tags: { tenant: ['a', 'b'] } } }],
    ['no tags', { eventType: 'Bounce', mail: { messageId: 'a' } }],
  ])('is counted and acknowledged: %s', async (_, event) => {
    expect(await record(event)).toEqual([]);
    expect(countedMetrics()).toEqual(['email_events_ignored']);
    expect(batchMetrics()).toEqual([]);
    expect(written).not.toContain('secret');
  });
});
