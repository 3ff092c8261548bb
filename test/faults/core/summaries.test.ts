import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import { emailTags } from '../../../shared/domain/email-event.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../../shared/domain/notification-id.ts';
import { webhook } from '../../support/api.ts';
import { auditIn } from '../../support/audit.ts';
import { newAlarmEvent } from '../../support/events.ts';
import { openSink } from '../../support/test-sink.ts';
import { until } from '../../support/until.ts';
import { type CrashPoint, throttled, useFaultyStack } from '../support.ts';

/** Exceeds every lease and visibility timeout. */
const RECOVERY_MS = 200_000;

const harness = useFaultyStack();

/** Creates a tenant that gets two emails and one SMS in a minute, the others in summaries, and a notification. */
const newTenant = async (type: 'email' | 'sms' = 'email') => {
  const client = await harness.newClient();
  const address = `${client.tenant.toLowerCase()}@example.com`;
  const phone = `+1202555${String(Math.floor(Math.random() * 10_000)).padStart(4, '0')}`;
  await client.put('/account', { summaries: { email_after: 2, sms_after: 1, window_minutes: 1 } });
  const details = type === 'email' ? { address } : { phone_number: phone };
  const id = await client.create({ label: 'n', type, details });
  const received = async (): Promise<string[]> =>
    (await harness.inbox()).flatMap((message) => {
      if (message.kind === 'email') return message.to.includes(address) ? [message.text] : [];
      return message.kind === 'sms' && message.to === phone ? [message.text] : [];
    });
  /** Starts a minute, so that a window does not end between two alerts. */
  const startWindow = async () => {
    await harness.stack.advance(60_000 - (harness.stack.clock.now() % 60_000) + 100);
  };
  const eventsOf = (count: number) =>
    Array.from({ length: count }, (_, index) => newAlarmEvent(client.tenant, [id], { alarm: `al${index}-x` }));
  /** Returns the names of the alarms in what was received: the ID of each alarm's event is in its own email. */
  const summaries = async () => (await received()).filter((text) => /^\d+ alarms?: /.test(text));
  return { client, id, address, received, summaries, startWindow, eventsOf };
};

type Tenant = Awaited<ReturnType<typeof newTenant>>;

const named = (events: ReturnType<Tenant['eventsOf']>) =>
  events.map((event, index) => ({ ...event, alarm: { id: event.alarm.id, label: `label-${index}-` } }));

/** Returns how often each alert was sent or listed. */
const arrivals = (events: ReturnType<typeof named>, texts: readonly string[]): number[] =>
  events.map(({ alarm }) => texts.filter((text) => text.includes(alarm.label)).length);

const summaryRecord = async ({ client, id }: Tenant, status: string) =>
  until(async () =>
    (await harness.deliveries(client.tenant, id)).find(
      (record) => record.event_id.endsWith(':summary') && record.status === status,
    ),
  );

describe('alerts of a tenant that summarizes', () => {
  it.each(['email', 'sms'] as const)(
    'arrive at once up to the number of a window, the others in one %s',
    async (type) => {
      const tenant = await newTenant(type);
      const first = type === 'email' ? 2 : 1;
      await tenant.startWindow();
      const events = named(tenant.eventsOf(5));
      await harness.sendEvents([...events, ...events]);
      const records = await harness.endedDeliveries(tenant.client.tenant, tenant.id, 5);
      expect(records.map(({ status }) => status).toSorted()).toEqual([
        ...Array(first).fill('delivered'),
        ...Array(5 - first).fill('summarized'),
      ]);
      expect(await tenant.received()).toHaveLength(first);
      await harness.advanceUntil(summaryRecord(tenant, 'delivered'));
      const received = await tenant.received();
      expect(received).toHaveLength(first + 1);
      expect(await tenant.summaries()).toEqual([expect.stringMatching(`^${5 - first} alarms: ${5 - first} CRITICAL`)]);
      expect(arrivals(events, received)).toEqual([1, 1, 1, 1, 1]);

      const { body } = await tenant.client.get(`/notifications/${tenant.id}/deliveries?status=summarized`);
      expect(body).toMatchObject({
        values: Array(5 - first).fill({ status: 'summarized', summary_id: expect.stringMatching(/:summary$/) }),
      });

      // The next window starts with a count of its own.
      await tenant.startWindow();
      const [single] = named(tenant.eventsOf(1));
      await harness.sendEvents([single]);
      await until(async () => ((await tenant.received()).length === first + 2 ? true : undefined));
    },
  );

  it('arrive at the address that the notification has when the summary is sent', async () => {
    const tenant = await newTenant();
    await tenant.startWindow();
    await harness.sendEvents(tenant.eventsOf(3));
    await harness.endedDeliveries(tenant.client.tenant, tenant.id, 3);
    const address = `new-${tenant.client.tenant.toLowerCase()}@example.com`;
    await tenant.client.put(`/notifications/${tenant.id}`, { details: { address } });
    await harness.advanceUntil(summaryRecord(tenant, 'delivered'));
    const moved = (await harness.inbox()).filter((message) => message.kind === 'email' && message.to.includes(address));
    expect(moved).toEqual([expect.objectContaining({ subject: '1 alarm: 1 CRITICAL' })]);
  });

  it('are cancelled with the summary if the notification is deleted', async () => {
    const tenant = await newTenant();
    await tenant.startWindow();
    await harness.sendEvents(tenant.eventsOf(3));
    await harness.endedDeliveries(tenant.client.tenant, tenant.id, 3);
    await tenant.client.delete(`/notifications/${tenant.id}`);
    await harness.advanceUntil(summaryRecord(tenant, 'cancelled'));
    expect(await tenant.summaries()).toEqual([]);
  });

  it('are escalated with the summary if the notification gets a type without summaries', async () => {
    const tenant = await newTenant();
    await tenant.startWindow();
    await harness.sendEvents(tenant.eventsOf(3));
    await harness.endedDeliveries(tenant.client.tenant, tenant.id, 3);
    await tenant.client.put(`/notifications/${tenant.id}`, { type: 'managed', details: {} });
    await harness.advanceUntil(summaryRecord(tenant, 'failed'));
    const escalation = await harness.advanceUntil(
      harness.sent(1, (message) => message.kind === 'managed' && message.text.includes(tenant.client.tenant)),
    );
    expect(JSON.stringify(escalation)).toContain(
      `CRITICAL on ${tenant.id}: a summary of 1 alarm could not be delivered`,
    );
  });

  it.each(['email', 'sms'] as const)(
    'are escalated if the %s notification is deleted and they have failed everywhere else',
    async (type) => {
      const tenant = await newTenant(type);
      const sink = await openSink((response) => response.writeHead(410).end());
      const other = await tenant.client.create({ ...webhook, details: { url: sink.url } });
      await tenant.startWindow();
      await harness.sendEvents(tenant.eventsOf(2));
      await harness.endedDeliveries(tenant.client.tenant, tenant.id, 2);
      await harness.sendEvents([newAlarmEvent(tenant.client.tenant, [tenant.id, other])]);
      await harness.endedDeliveries(tenant.client.tenant, tenant.id, 3);
      await harness.delivery(tenant.client.tenant, other, 'failed');
      await tenant.client.delete(`/notifications/${tenant.id}`);
      const escalations = harness.sent(
        1,
        (message) => message.kind === 'managed' && message.text.includes(tenant.client.tenant),
      );
      expect(await harness.advanceUntil(escalations)).toEqual([
        expect.objectContaining({ subject: expect.stringContaining('none of its 2 destinations could be reached') }),
      ]);
    },
  );

  it('are escalated with the summary if it bounces', async () => {
    const tenant = await newTenant();
    await tenant.startWindow();
    await harness.sendEvents(tenant.eventsOf(4));
    await harness.endedDeliveries(tenant.client.tenant, tenant.id, 4);
    const { event_id } = await harness.advanceUntil(summaryRecord(tenant, 'delivered'));
    const summary = { ...newAlarmEvent(tenant.client.tenant, []), event_id };
    const tags = Object.entries(emailTags(summary, tenant.id)).map(([name, value]) => [name, [value]]);
    const mail = { messageId: 'm', destination: [tenant.address], tags: Object.fromEntries(tags) };
    await harness.sqs.send(
      new SendMessageCommand({
        QueueUrl: harness.stack.queues.get('EmailEvents-Queue')?.settings.url,
        MessageBody: JSON.stringify({ source: 'aws.ses', detail: { eventType: 'Bounce', mail } }),
      }),
    );
    await harness.advanceUntil(summaryRecord(tenant, 'bounced'));
    const escalation = await harness.advanceUntil(
      harness.sent(1, (message) => message.kind === 'managed' && message.text.includes(tenant.client.tenant)),
    );
    expect(JSON.stringify(escalation)).toContain('a summary of 2 alarms could not be delivered');
  });

  it('can be redelivered with the summary if it fails', async () => {
    const tenant = await newTenant();
    await tenant.startWindow();
    await harness.sendEvents(named(tenant.eventsOf(4)));
    await harness.endedDeliveries(tenant.client.tenant, tenant.id, 4);
    const end = harness.injectFault(
      { status: 400, type: 'MessageRejected', message: 'Email address is not verified.' },
      ({ service }) => service === 'ses' || service === 'email',
    );
    await harness.advanceUntil(summaryRecord(tenant, 'failed'));
    end();
    const { body } = await tenant.client.post(`/notifications/${tenant.id}/redeliver`, { since: 0 });
    expect(body).toEqual({ count: 1, next_marker: null });
    await harness.advanceUntil(summaryRecord(tenant, 'delivered'));
    expect(await tenant.summaries()).toEqual([expect.stringMatching(/^2 alarms: 2 CRITICAL/)]);
  });
});

describe('without summaries and below the limits', () => {
  it.each([
    ['email', { address: 'plain@example.com' }, 'ses SendEmail', []],
    ['sms', { phone_number: '+12025550179' }, 'sns Publish', []],
    ['technicalContactsEmail', {}, 'ses SendEmail', ['dynamodb GetItem']],
  ] as const)('an alert by %s causes the same requests as ever', async (type, details, send, contactReads) => {
    const client = await harness.newClient();
    const isContacts = type === 'technicalContactsEmail';
    await client.put('/account', { technical_contacts: ['plain@example.com'] });
    const id = isContacts ? DEFAULT_NOTIFICATION_ID : await client.create({ label: 'n', type, details });
    const requests: string[] = [];
    const end = harness.injectFault(throttled, ({ caller, service, action, body }) => {
      const isOfTenant = body.toString('utf8').includes(client.tenant) || service !== 'dynamodb';
      if (caller.endsWith(`send-${type}`) && isOfTenant) requests.push(`${service} ${action}`);
      return false;
    });
    const target = isContacts ? [] : ['dynamodb BatchGetItem'];
    const others = ['dynamodb PutItem', ...target, ...contactReads, 'dynamodb UpdateItem', send];
    const record = type === 'sms' ? 'dynamodb PutItem' : 'dynamodb UpdateItem';
    // The account is read once a minute.
    for (const account of [['dynamodb GetItem'], []]) {
      requests.length = 0;
      await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
      await harness.endedDeliveries(client.tenant, id, account.length === 0 ? 2 : 1);
      // Another sandbox may have received the second alert, which reads the account first.
      const expected = [account, ['dynamodb GetItem']].map((reads) => [...reads, ...others, record].toSorted());
      expect(expected).toContainEqual(requests.toSorted());
    }
    end();
  });
});

describe('each alert of a tenant that summarizes is sent or listed', () => {
  const dynamodb = { caller: 'send-email', service: 'dynamodb' };
  const put = { ...dynamodb, action: 'PutItem', matchesBody: (body: string) => body.includes('"summary#') };
  const read = { ...dynamodb, action: 'Query', matchesBody: put.matchesBody };

  it.each([
    ['after the alert is stored', { ...put, when: 'after' }],
    ['before the summary is read', { ...read, when: 'before' }],
  ] satisfies [string, CrashPoint][])('although a sender crashes %s', async (_name, point) => {
    const tenant = await newTenant();
    await tenant.startWindow();
    const events = named(tenant.eventsOf(5));
    const crash = harness.crashOnce(point);
    await harness.sendEvents(events);
    await (point.action === 'Query' ? harness.advanceUntil(crash) : crash);
    await harness.stack.advance(RECOVERY_MS);
    await harness.advanceUntil(harness.completedAlerts(tenant.client.tenant, tenant.id, 5));
    await harness.drainQueue('Delivery-email');
    const counts = arrivals(events, await tenant.received());
    expect(Math.min(...counts)).toBe(1);
    // An alert is listed twice only if the worker crashed between storing and recording it.
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
  });
});

describe('alerts above the daily limit', () => {
  const limited = useFaultyStack({ emailsPerTenantPerDay: '2', smsPerTenantPerDay: '1' });

  it.each([
    ['email', 'emails_per_day', { address: 'limited@example.com' }, 2],
    ['sms', 'sms_per_day', { phone_number: '+12025550177' }, 1],
  ] as const)('arrive in a summary an hour by %s, which a notice says', async (type, limit, details, count) => {
    await limited.stayWithinDay();
    const client = await limited.newClient();
    const contact = `contact-${client.tenant.toLowerCase()}@example.com`;
    await client.put('/account', { technical_contacts: [contact] });
    const id = await client.create({ label: 'l', type, details });
    await limited.sendEvents(Array.from({ length: 4 }, () => newAlarmEvent(client.tenant, [id])));
    const records = await limited.endedDeliveries(client.tenant, id, 4);
    expect(records.filter(({ status }) => status === 'delivered')).toHaveLength(count);
    expect(records.filter(({ status }) => status === 'summarized')).toHaveLength(4 - count);
    const [notice] = await limited.sent(1, (message) => message.kind === 'email' && message.to.includes(contact));
    expect(JSON.stringify(notice)).toContain(limit);
    await limited.advanceUntil(limited.completedAlerts(client.tenant, id, 5), { stepMs: 60_000 });
    const ended = await limited.deliveries(client.tenant, id);
    expect(ended.find(({ event_id }) => event_id.endsWith(':summary'))).toMatchObject({ status: 'delivered' });
    const { body } = await client.get('/account');
    expect(body).toMatchObject({
      usage: { [type === 'sms' ? 'sms_summaries_per_day' : 'email_summaries_per_day']: 1 },
    });
  });

  it('fail as before if the limit is 0', async () => {
    await limited.stayWithinDay();
    const client = await limited.newClient();
    const accounts = createAccountRepository(limited.documents, limited.table('Accounts'));
    await accounts.changeLimits(client.tenant, { smsPerTenantPerDay: 0 }, auditIn(limited.table('Audits')));
    const id = await client.create({ label: 's', type: 'sms', details: { phone_number: '+12025550178' } });
    await limited.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await limited.delivery(client.tenant, id, 'failed');
  });
});
