import type { SQSRecord } from 'aws-lambda';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { claimedRecord, withStatus } from '../../shared/domain/delivery-record.ts';
import { type EmailEventKind, emailTags } from '../../shared/domain/email-event.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createEmailEventRecorder } from '../../shared/pipeline/email-events.ts';
import { startDatabase } from '../support/dynamodb.ts';
import { withLostResponse, withThrottling } from '../support/dynamodb-faults.ts';
import { alarmEvent } from '../support/events.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);
const deliveries = createDeliveryRepository(client, 'deliveries');

const NOW = Date.UTC(2026, 0, 1);
const environment = { DELIVERIES_TABLE: 'deliveries', EMAIL_EVENTS_QUEUE: 'https://sqs/email-events' };

/** The visibility changes that the recorder asks for: the queue, the message and the seconds. */
let visibility: [url: string, messageId: string, seconds: number][] = [];
const queues = {
  changeVisibility: async (url: string, { messageId }: SQSRecord, seconds: number) => {
    visibility.push([url, messageId, seconds]);
  },
};

/** Hands one batch of messages to a recorder, and returns the ids of those that are reported as failed. */
const handBatch = async (messages: readonly Partial<SQSRecord>[], database = client, queue = queues) => {
  const recorder = createEmailEventRecorder(database, queue, environment, () => NOW);
  const { batchItemFailures } = await recorder({ Records: messages.map(sqsMessage) });
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
};

/** Hands over one event of SES as the body of a message. */
const record = (event: unknown) => handBatch([{ body: event === undefined ? '' : JSON.stringify(event) }]);

/** What the function writes: its log and its metrics. */
let written = '';
beforeEach(() => {
  written = '';
  visibility = [];
  const keep = (text: string | Uint8Array) => {
    written += text;
    return true;
  };
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockImplementation(keep);
  return () => vi.restoreAllMocks();
});

/** What is counted of a batch whatever is in it. */
const ofBatches = ['internal_errors', 'handled', 'oldest_unprocessed_seconds'];
const counted = () =>
  (written.match(/"Name":"\w+"/g) ?? []).map((name) => name.slice(8, -1)).filter((name) => !ofBatches.includes(name));

const batchMetrics = z.object({
  service: z.string(),
  function: z.string(),
  internal_errors: z.number(),
  handled: z.number(),
  oldest_unprocessed_seconds: z.number(),
});
/** The metrics of each batch, with their dimensions. */
const countedOfBatches = () =>
  written
    .split('\n')
    .filter((line) => line.includes('oldest_unprocessed_seconds'))
    .map((line) => batchMetrics.parse(JSON.parse(line)));

const claimedBy = (notification_id: string, owner: string, now: number) =>
  claimedRecord({ event: alarmEvent(), notification_id, event_time_ms: now, content_hash: 'hash' }, owner, now);

/** A delivery to a new notification, in this state. */
const delivery = async (status: 'delivered' | 'failed' | 'superseded' | 'cancelled' | 'pending', lease = 0) => {
  const id = newNotificationId();
  const claimed = claimedBy(id, 'owner', NOW - 1_000);
  await deliveries.claim(claimed, NOW - 1_000);
  await deliveries.update(
    claimed,
    status === 'pending' ? { ...claimed, lease_until_ms: lease } : withStatus(claimed, status),
  );
  return { id, claimed, tags: emailTags(alarmEvent(), id) };
};

const wrapped = (tags: Record<string, string>) =>
  Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, [value]]));

/** An event as SES puts it on the bus. */
const mailEvent = (eventType: EmailEventKind, tags: Record<string, string> = {}) => ({
  version: '0',
  id: '5e9c5f4e-0000-4000-8000-000000000000',
  'detail-type': 'Email Bounced',
  source: 'aws.ses',
  account: '111111111111',
  resources: ['arn:aws:ses:eu-west-1:111111111111:configuration-set/ours'],
  detail: {
    eventType,
    bounce: {
      bounceType: 'Permanent',
      bouncedRecipients: [{ emailAddress: 'secret@example.com', diagnosticCode: 'smtp; 550 secret' }],
    },
    mail: {
      messageId: '0100019aexample-000000',
      source: 'notifications@example.com',
      destination: ['secret@example.com'],
      commonHeaders: { subject: 'secret subject' },
      tags: { 'ses:configuration-set': ['ours'], 'ses:from-domain': ['example.com'], ...wrapped(tags) },
    },
  },
});

describe('a mail that bounced or was rejected', () => {
  it.each([
    ['Bounce', 'email_bounces'],
    ['Reject', 'email_rejects'],
  ] as const)('marks its delivery as bounced, and leaves all else of it: %s', async (kind, metric) => {
    const { claimed, tags } = await delivery('delivered');
    await record(mailEvent(kind, tags));
    expect(await deliveries.read(claimed)).toEqual({ ...withStatus(claimed, 'delivered'), status: 'bounced' });
    expect(counted()).toEqual([metric]);
  });

  it('ends its delivery: the event that comes again is not sent again', async () => {
    const { id, tags } = await delivery('delivered');
    await record(mailEvent('Bounce', tags));
    const again = claimedBy(id, 'other', NOW);
    expect(await deliveries.claim(again, NOW)).toMatchObject({ kind: 'ended' });
  });

  it('marks it once, however often the event comes', async () => {
    const { claimed, tags } = await delivery('delivered');
    for (let time = 0; time < 3; time++) await record(mailEvent('Bounce', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
    expect(counted()).toEqual(['email_bounces', 'mail_events_repeated', 'mail_events_repeated']);
  });

  it.each(['failed', 'superseded', 'cancelled', 'pending'] as const)(
    'does not touch a delivery that is %s',
    async (status) => {
      const { claimed, tags } = await delivery(status);
      await record(mailEvent('Bounce', tags));
      expect(await deliveries.read(claimed)).toMatchObject({ status });
      expect(counted()).toEqual(['email_bounces']);
    },
  );

  it('is received again while its sender is still at job on the delivery, which is no error', async () => {
    const { claimed, tags } = await delivery('pending', NOW + 1);
    expect(await record(mailEvent('Bounce', tags))).toEqual(['message-1']);
    expect(visibility).toEqual([['https://sqs/email-events', 'message-1', 2]]);
    expect(counted()).toEqual([]);
    expect(countedOfBatches()).toMatchObject([{ internal_errors: 0, handled: 0 }]);
    await deliveries.complete(withStatus(claimed, 'delivered'));
    expect(await record(mailEvent('Bounce', tags))).toEqual([]);
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
  });

  it('is marked once where the answer of the write was lost and the SDK repeats it', async () => {
    const { claimed, tags } = await delivery('delivered');
    const body = JSON.stringify(mailEvent('Bounce', tags));
    expect(await handBatch([{ body }], withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand'))).toEqual([]);
    expect(await deliveries.read(claimed)).toEqual({ ...withStatus(claimed, 'delivered'), status: 'bounced' });
  });

  it('makes no record where there is none', async () => {
    const id = newNotificationId();
    const tags = emailTags(alarmEvent(), id);
    await record(mailEvent('Bounce', tags));
    const key = claimedBy(id, '', NOW);
    expect(await deliveries.read(key)).toBeUndefined();
    expect(counted()).toEqual(['email_bounces']);
  });
});

describe('a batch of email events', () => {
  const at = (seconds: number, receives = 1) => ({
    ApproximateReceiveCount: String(receives),
    SentTimestamp: String(NOW - seconds * 1_000),
    SenderId: 'events.amazonaws.com',
    ApproximateFirstReceiveTimestamp: '0',
  });
  const throttledOnce = () => withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand', 1);

  it('reports only the messages that the table did not answer for, and handles the others', async () => {
    const [failing, fine] = [await delivery('delivered'), await delivery('delivered')];
    const messages = [failing, fine].map(({ tags }, index) => ({
      messageId: `message-${index}`,
      body: JSON.stringify(mailEvent('Bounce', tags)),
      attributes: at(300 - index, 7),
    }));
    expect(await handBatch(messages, throttledOnce())).toEqual(['message-0']);
    expect(visibility).toEqual([['https://sqs/email-events', 'message-0', 90]]);
    expect(await deliveries.read(fine.claimed)).toMatchObject({ status: 'bounced' });
    expect(countedOfBatches()).toMatchObject([
      { function: 'record-email-events', internal_errors: 1, handled: 1, oldest_unprocessed_seconds: 300 },
    ]);
  });

  it('counts zeros where nothing fails, so that an alarm ends', async () => {
    await record(mailEvent('Complaint'));
    expect(countedOfBatches()).toMatchObject([{ internal_errors: 0, handled: 1, oldest_unprocessed_seconds: 0 }]);
  });

  it('reports a message whose visibility cannot be changed, too', async () => {
    const { tags } = await delivery('delivered');
    const queue = { changeVisibility: () => Promise.reject(new Error('secret')) };
    const body = JSON.stringify(mailEvent('Bounce', tags));
    expect(await handBatch([{ body }], throttledOnce(), queue)).toEqual(['message-1']);
    expect(written).toContain('visibility change failed');
    expect(written).not.toContain('secret');
  });
});

describe('a mail', () => {
  it('that is complained of has arrived: its delivery stays as it is', async () => {
    const { claimed, tags } = await delivery('delivered');
    await record(mailEvent('Complaint', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'delivered' });
    expect(counted()).toEqual(['email_complaints']);
  });

  it('of a test has no record, and is counted', async () => {
    await record(mailEvent('Bounce'));
    expect(counted()).toEqual(['email_bounces']);
  });

  it('is logged by ids alone', async () => {
    const { id, tags } = await delivery('delivered');
    await record(mailEvent('Bounce', tags));
    expect(written).toContain(`"notification_id":"${id}"`);
    expect(written).toContain('"tenant_id":"acme"');
    expect(written).not.toContain('secret');
  });
});

describe('what is no event of a mail', () => {
  const deep = JSON.parse('['.repeat(500) + ']'.repeat(500));
  it.each([
    ['nothing', undefined],
    ['a text', 'Bounce'],
    ['deep nesting', deep],
    ['another source', { ...mailEvent('Bounce'), source: 'secret' }],
    ['another kind', { ...mailEvent('Bounce'), detail: { ...mailEvent('Bounce').detail, eventType: 'Send' } }],
    [
      'an id with a line break',
      { source: 'aws.ses', detail: { eventType: 'Bounce', mail: { messageId: 'a\nb', tags: {} } } },
    ],
    [
      'a tag with two values',
      { source: 'aws.ses', detail: { eventType: 'Bounce', mail: { messageId: 'a', tags: { tenant: ['a', 'b'] } } } },
    ],
    ['no tags', { source: 'aws.ses', detail: { eventType: 'Bounce', mail: { messageId: 'a' } } }],
  ])('is counted and deleted: %s', async (_, event) => {
    expect(await record(event)).toEqual([]);
    expect(counted()).toEqual(['mail_events_ignored']);
    expect(countedOfBatches()).toMatchObject([{ internal_errors: 0, handled: 1 }]);
    expect(written).not.toContain('secret');
  });
});
