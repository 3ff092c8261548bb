import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { OutgoingMessage, Queues } from '../../shared/adapters/queues.ts';
import { type DeliveryReport, deliveryReport } from '../../shared/contracts/delivery-report.ts';
import { deliveryId } from '../../shared/domain/delivery-key.ts';
import { claimedRecord, type DeliveryRecord, withStatus } from '../../shared/domain/delivery-record.ts';
import { emailTags, tenantTag } from '../../shared/domain/email-event.ts';
import { addressHash } from '../../shared/domain/email-stop.ts';
import { DEFAULT_NOTIFICATION_ID, newNotificationId } from '../../shared/domain/notification-id.ts';
import { createEmailEventRecorder } from '../../shared/pipeline/email-events.ts';
import { createDeliveries } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { withThrottling } from '../support/dynamodb-faults.ts';
import { alarmEvent, alarmHeader } from '../support/events.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client, connect } = useDatabase();
const deliveries = createDeliveries(client);

const NOW_MS = Date.UTC(2026, 0, 1);
const environment = {
  ACCOUNTS_TABLE: 'accounts',
  DELIVERIES_TABLE: 'deliveries',
  EMAIL_EVENTS_QUEUE: 'https://sqs/email-events',
  REPORTS_QUEUE: 'https://sqs/reports',
};

/** The reports that the recorder sent. */
let reports: DeliveryReport[] = [];
const queues = {
  changeVisibility: async () => undefined,
  sendAll: async <Message extends OutgoingMessage>(_url: string, messages: readonly Message[]): Promise<Message[]> => {
    reports.push(...messages.map(({ body }) => deliveryReport.parse(JSON.parse(body()))));
    return [];
  },
};

/** Invokes a recorder with a batch. @returns the IDs of the batch item failures */
const recordBatch = async (
  messages: readonly Partial<SQSRecord>[],
  database = client,
  queue: Pick<Queues, 'changeVisibility' | 'sendAll'> = queues,
) => {
  const recorder = createEmailEventRecorder(database, queue, environment, () => NOW_MS);
  const { batchItemFailures } = await recorder({ Records: messages.map(sqsMessage) });
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
};

const record = (event: unknown) => recordBatch([{ body: event === undefined ? '' : JSON.stringify(event) }]);

/** The logs and metrics of the recorder. */
let written = '';
beforeEach(async () => {
  vi.stubEnv('STACK_NAME', 'local');
  written = '';
  reports = [];
  const append = (text: string | Uint8Array) => {
    written += text;
    return true;
  };
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockImplementation(append);
  const account = { pk: 'account#acme', technical_contacts: ['oncall@example.com'] };
  await client.send(new PutCommand({ TableName: 'accounts', Item: account }));
  return () => vi.restoreAllMocks();
});

/** The metrics of a batch with internal errors. */
const batchMetricNames = ['internal_errors', 'oldest_unprocessed_seconds'];
const countedMetrics = () =>
  (written.match(/"Name":"\w+"/g) ?? [])
    .map((name) => name.slice(8, -1))
    .filter((name) => !batchMetricNames.includes(name));

/** The metrics of each batch with internal errors, with their dimensions. */
const batchMetrics = (): unknown[] =>
  written
    .split('\n')
    .filter((line) => line.includes('oldest_unprocessed_seconds'))
    .map((line) => JSON.parse(line));

const claimedBy = (notification_id: string, claimId: string, nowMs: number) =>
  claimedRecord(
    { event: alarmHeader(), notification_id, accepted_at_ms: nowMs, content_hash: 'hash' },
    claimId,
    nowMs,
    'email',
  );

/** The recipient of emails, which appears in no log and no record. */
const RECIPIENT = 'secret@example.com';
const hashOf = (id: string, address: string) => addressHash(deliveryId(alarmEvent(), id), address);

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
  {
    bounceType = 'Permanent',
    feedbackType,
    timestamp,
    ...options
  }: { recipient?: string | undefined; bounceType?: string; feedbackType?: string; timestamp?: string } = {},
) => ({
  eventType,
  ...(eventType === 'Complaint'
    ? { complaint: { complaintFeedbackType: feedbackType, timestamp } }
    : {
        bounce: {
          bounceType,
          timestamp,
          bouncedRecipients: [{ emailAddress: RECIPIENT, diagnosticCode: 'smtp; 550 secret' }],
        },
      }),
  mail: {
    messageId: '0100019aexample-000000',
    source: 'notifications@example.com',
    destination: 'recipient' in options ? options.recipient && [options.recipient] : [RECIPIENT],
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
        email_report: kind === 'Bounce' ? 'bounce' : 'reject',
        email_reported_at_ms: expect.any(Number),
      });
      expect(countedMetrics().filter((name) => name !== 'email_stops')).toEqual([metric]);
    },
  );

  it('counts as repeated after the first time', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    for (let count = 0; count < 3; count++) await record(emailEvent('Bounce', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
    expect(countedMetrics()).toEqual(['email_bounces', 'email_events_repeated', 'email_events_repeated']);
  });

  it.each<[string, 'failed' | 'cancelled' | 'delivered', Partial<DeliveryRecord>, string | undefined, string]>([
    ['of a failed delivery leaves it failed, so that it can be redelivered', 'failed', {}, RECIPIENT, 'failed'],
    ['of a cancelled delivery makes it bounced', 'cancelled', {}, RECIPIENT, 'bounced'],
    ['for which SES names no recipient counts for the only one', 'delivered', {}, undefined, 'bounced'],
    [
      'leaves a delivery whose destination has since become one without recipients',
      'delivered',
      { reached_recipient_hashes: [] },
      RECIPIENT,
      'delivered',
    ],
  ])('%s', async (_, status, attributes, recipient, expected) => {
    const { claimed, tags } = await recordDelivery(status, 0, attributes);
    await record(emailEvent('Bounce', tags, { recipient }));
    expect(await deliveries.read(claimed)).toMatchObject({ status: expected });
  });
});

describe('what SES reports', () => {
  it.each<[string, Parameters<typeof emailEvent>[0], object, string | undefined, string | undefined]>([
    ['a bounce', 'Bounce', {}, 'bounce', 'bounced'],
    ['a complaint', 'Complaint', {}, 'complaint', 'complained'],
    ['a bounce that is not permanent', 'Bounce', { bounceType: 'Transient' }, 'temporary_bounce', undefined],
    ['a reject', 'Reject', {}, 'reject', undefined],
    ['a complaint that it is not spam', 'Complaint', { feedbackType: 'not-spam' }, undefined, undefined],
  ])(
    'is recorded, and reported as a stop each time, also of a test: %s',
    async (_, kind, options, recorded, reason) => {
      const { claimed, tags } = await recordDelivery('delivered');
      const recipient = `${newNotificationId()}@example.com`;
      const attributes = { ...sqsMessage().attributes, SentTimestamp: String(NOW_MS) };
      for (const of of [tags, { tenant: tenantTag(alarmEvent().tenant_id) }])
        await recordBatch([{ body: JSON.stringify(emailEvent(kind, of, { ...options, recipient })), attributes }]);
      const found = await deliveries.read(claimed);
      expect([found?.email_report, found?.email_reported_at_ms]).toEqual([recorded, recorded && NOW_MS]);
      const stop = { kind: 'stop', tenant_id: 'acme', address: recipient, reason, since_ms: NOW_MS };
      expect(reports).toEqual(reason === undefined ? [] : [stop, stop]);
    },
  );

  it('has the time of SES, which is the same if the event is repeated', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    const timestamp = '2026-01-01T00:00:05.000Z';
    for (let count = 0; count < 2; count++) await record(emailEvent('Complaint', tags, { timestamp }));
    const reported = { email_report: 'complaint', email_reported_at_ms: Date.parse(timestamp) };
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'delivered', ...reported });
    expect(countedMetrics().filter((name) => name !== 'email_stops')).toEqual([
      'email_complaints',
      'email_events_repeated',
    ]);
  });

  it('returns the message to its queue if SQS does not accept the report, and the bounce is recorded then', async () => {
    const { claimed, tags } = await recordDelivery('delivered');
    const queue = { ...queues, sendAll: async <Message>(_url: string, messages: readonly Message[]) => [...messages] };
    const body = JSON.stringify(emailEvent('Bounce', tags));
    expect(await recordBatch([{ body }], client, queue)).toHaveLength(1);
    expect(written).not.toContain('secret');
    expect(await recordBatch([{ body }])).toEqual([]);
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
  });
});

it('an email to several contacts does not count as bounced if SES reports two emails to one, as after a send that timed out', async () => {
  const id = newNotificationId();
  const reached_recipient_hashes = ['a@example.com', 'b@example.com'].map((address) => hashOf(id, address));
  const claimed = { ...claimedBy(id, 'owner', NOW_MS), reached_recipient_hashes };
  await deliveries.claim(claimed, NOW_MS);
  await deliveries.update(claimed, withStatus(claimed, 'delivered', NOW_MS));
  for (const recipient of ['a@example.com', 'a@example.com', 'someone-else@example.com'])
    await record(emailEvent('Bounce', emailTags(alarmEvent(), id), { recipient }));
  expect(await deliveries.read(claimed)).toMatchObject({ status: 'delivered' });
});

it('an email event whose write failed is reported as failed even if its visibility cannot be changed', async () => {
  const { tags } = await recordDelivery('delivered');
  const queue = { ...queues, changeVisibility: () => Promise.reject(new Error('secret')) };
  const body = JSON.stringify(emailEvent('Bounce', tags));
  const throttledOnce = withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand', 1);
  expect(await recordBatch([{ body }], throttledOnce, queue)).toEqual(['message-1']);
  expect(written).toContain('visibility change failed');
  expect(written).not.toContain('secret');
});

it('an email event is counted also for the email of a test, and logged without recipients, subjects or server responses', async () => {
  const { id, tags } = await recordDelivery('delivered');
  await record(emailEvent('Bounce', tags));
  await record(emailEvent('Bounce'));
  expect(countedMetrics()).toEqual(['email_bounces', 'email_bounces']);
  for (const part of [`"notification_id":"${id}"`, '"tenant_id":"acme"']) expect(written).toContain(part);
  expect(written).not.toContain('secret');
});

describe('an email that reaches the server of its recipient', () => {
  const ACCEPTED = '2026-01-01T00:00:03.250Z';
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

  it('is recorded with the time of the server, as is a delay, and counted with the others of its batch without a log line', async () => {
    const [first, second, delayed] = [
      await recordDelivery('delivered'),
      await recordDelivery('delivered'),
      await recordDelivery('delivered'),
    ];
    const events = [delivery(first.tags), delivery(second.tags), delay(delayed.tags)];
    await recordBatch(events.map((event) => ({ body: JSON.stringify(event) })));
    expect(await deliveries.read(first.claimed)).toEqual({
      ...withStatus(first.claimed, 'delivered', NOW_MS - 1_000),
      confirmed_at_ms: Date.parse(ACCEPTED),
    });
    expect(await deliveries.read(delayed.claimed)).toMatchObject({ delayed_at_ms: Date.parse(ACCEPTED) });
    expect(written).toContain('"email_confirmations":2,"email_delays":1');
    expect(written.trim().split('\n')).toHaveLength(1);
  });

  it('changes nothing without a record, as an email of a test', async () => {
    const tags = emailTags(alarmEvent(), newNotificationId());
    expect(
      await recordBatch([{ body: JSON.stringify(delivery(tags)) }, { body: JSON.stringify(delivery({})) }]),
    ).toEqual([]);
    expect(written).toBe('');
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

it('an event about a delivery whose record cannot be read stops the mailbox, and is acknowledged', async () => {
  const { claimed, tags } = await recordDelivery('delivered');
  await client.send(new PutCommand({ TableName: 'deliveries', Item: { ...claimed, attempts: 'none' } }));
  expect(await recordBatch([{ body: JSON.stringify(emailEvent('Bounce', tags)) }])).toEqual([]);
  expect(written).toContain('unreadable delivery');
  expect(reports).toHaveLength(1);
});
