import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeliveryRepository } from '../../shared/adapters/delivery-repository.ts';
import { createMailEventRecorder } from '../../shared/adapters/mail-events.ts';
import { claimedRecord, ended } from '../../shared/domain/delivery-record.ts';
import { type MailEventKind, mailTags } from '../../shared/domain/mail-event.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { startDatabase } from '../support/dynamodb.ts';
import { throttled } from '../support/dynamodb-faults.ts';
import { alarmEvent } from '../support/events.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);
const deliveries = createDeliveryRepository(client, 'deliveries');

const NOW = Date.UTC(2026, 0, 1);
const record = createMailEventRecorder(client, 'deliveries', () => NOW);

/** What the function writes: its log and its metrics. */
let written = '';
beforeEach(() => {
  written = '';
  const keep = (text: string | Uint8Array) => {
    written += text;
    return true;
  };
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockImplementation(keep);
  return () => vi.restoreAllMocks();
});

const counted = () => written.match(/"Name":"\w+"/g)?.map((name) => name.slice(8, -1)) ?? [];

const claimedBy = (notification_id: string, owner: string, now: number) =>
  claimedRecord({ event: alarmEvent(), notification_id, event_time_ms: now, content_hash: 'hash' }, owner, now);

/** A delivery to a new notification, in this state. */
const delivery = async (status: 'delivered' | 'dead' | 'superseded' | 'cancelled' | 'pending', lease = 0) => {
  const id = newNotificationId();
  const claimed = claimedBy(id, 'owner', NOW - 1_000);
  await deliveries.claim(claimed, NOW - 1_000);
  await deliveries.update(claimed, status === 'pending' ? { ...claimed, lease } : ended(claimed, status));
  return { id, claimed, tags: mailTags(alarmEvent(), id) };
};

const wrapped = (tags: Record<string, string>) =>
  Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, [value]]));

/** An event as SES puts it on the bus. */
const mailEvent = (eventType: MailEventKind, tags: Record<string, string> = {}) => ({
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
    ['Bounce', 'mail_bounces'],
    ['Reject', 'mail_rejects'],
  ] as const)('marks its delivery as bounced, and leaves all else of it: %s', async (kind, metric) => {
    const { claimed, tags } = await delivery('delivered');
    await record(mailEvent(kind, tags));
    expect(await deliveries.read(claimed)).toEqual({ ...ended(claimed, 'delivered'), status: 'bounced' });
    expect(counted()).toEqual([metric]);
  });

  it('ends its delivery: the event that comes again is not sent again', async () => {
    const { id, tags } = await delivery('delivered');
    await record(mailEvent('Bounce', tags));
    const again = claimedBy(id, 'other', NOW);
    expect(await deliveries.claim(again, NOW)).toEqual({ kind: 'ended' });
  });

  it('marks it once, however often the event comes', async () => {
    const { claimed, tags } = await delivery('delivered');
    for (let time = 0; time < 3; time++) await record(mailEvent('Bounce', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
    expect(counted()).toEqual(['mail_bounces', 'mail_events_repeated', 'mail_events_repeated']);
  });

  it.each(['dead', 'superseded', 'cancelled', 'pending'] as const)(
    'does not touch a delivery that is %s',
    async (status) => {
      const { claimed, tags } = await delivery(status);
      await record(mailEvent('Bounce', tags));
      expect(await deliveries.read(claimed)).toMatchObject({ status });
      expect(counted()).toEqual(['mail_bounces']);
    },
  );

  it('comes again where its sender is still at work on the delivery', async () => {
    const { claimed, tags } = await delivery('pending', NOW + 1);
    await expect(record(mailEvent('Bounce', tags))).rejects.toThrow('being worked on');
    await deliveries.complete(ended(claimed, 'delivered'));
    await record(mailEvent('Bounce', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'bounced' });
  });

  it('makes no record where there is none', async () => {
    const id = newNotificationId();
    const tags = mailTags(alarmEvent(), id);
    await record(mailEvent('Bounce', tags));
    const key = claimedBy(id, '', NOW);
    expect(await deliveries.read(key)).toBeUndefined();
    expect(counted()).toEqual(['mail_bounces']);
  });

  it('comes again where the table does not answer', async () => {
    const { tags } = await delivery('delivered');
    const failing = throttled(connect({ maxAttempts: 1 }), 'UpdateItemCommand');
    const recorder = createMailEventRecorder(failing, 'deliveries');
    await expect(recorder(mailEvent('Bounce', tags))).rejects.toThrow('too fast');
  });
});

describe('a mail', () => {
  it('that is complained of has arrived: its delivery stays as it is', async () => {
    const { claimed, tags } = await delivery('delivered');
    await record(mailEvent('Complaint', tags));
    expect(await deliveries.read(claimed)).toMatchObject({ status: 'delivered' });
    expect(counted()).toEqual(['mail_complaints']);
  });

  it('of a test has no record, and is counted', async () => {
    await record(mailEvent('Bounce'));
    expect(counted()).toEqual(['mail_bounces']);
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
  ])('is counted and let go: %s', async (_, event) => {
    await record(event);
    expect(counted()).toEqual(['mail_events_ignored']);
    expect(written).not.toContain('secret');
  });
});
