import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink, payload } from '../support/test-sink.ts';
import { type Client, documents, isLocal, newClient, table } from './support/api.ts';
import { deadLetter, deliveries, delivery, inbox, sendEvents, sent } from './support/pipeline.ts';

const router = { api_key: '7b9c1d1e-3f5a-4c2b-8d6e-0a1b2c3d4e5f', routing_key: 'team' };

describe.runIf(isLocal)('an alarm event', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient();
  });
  const toWebhook = (url: string) => client.create({ label: 'w', type: 'webhook', details: { url } });

  it('reaches a webhook, signed, with the seven fields of the payload and nothing else', async () => {
    const sink = await openSink();
    const id = await toWebhook(sink.url);
    const event = { ...newAlarmEvent(client.tenant, [id]), txn: 'not for receivers' };
    await sendEvents([event]);
    const [received] = await sink.wait(1);
    const { event_id, log_entry_id, details, entity, check, alarm, tenant_id } = event;
    expect(JSON.parse(received?.body ?? '')).toEqual({
      event_id,
      log_entry_id,
      details,
      entity,
      check,
      alarm,
      tenant_id,
    });
    const { token, secrets } = await createAccountRepository(documents, table('Accounts')).webhookCredentials(
      client.tenant,
    );
    expect(received?.headers['x-monitoring-webhook-token']).toBe(token);
    const headers = Object.fromEntries(
      Object.entries(received?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    );
    expect(() => new Webhook(secrets[0] ?? '').verify(received?.body ?? '', headers)).not.toThrow();
    await delivery(client.tenant, id, 'delivered');
  });

  it('passes on what it does not know, to the last digit', async () => {
    const sink = await openSink();
    const id = await toWebhook(sink.url);
    const event = JSON.stringify({
      ...newAlarmEvent(client.tenant, [id]),
      details: { state: 'CRITICAL', own: { deep: ['ü', 1.5] } },
    });
    await sendEvents([
      event.replace('"deep":', '"__proto__":{"a":1},"big":12345678901234567890,"zero":0.10000000000000000000,"deep":'),
    ]);
    const [received] = await sink.wait(1);
    expect(received?.body).toContain(
      '"own":{"__proto__":{"a":1},"big":12345678901234567890,"zero":0.10000000000000000000,"deep":["ü",1.5]}',
    );
  });

  it('reaches an inbox, a phone, a pager, a router, a feed, the technical contacts and the operators', async () => {
    const contact = `contact-${client.tenant.toLowerCase()}@example.com`;
    await createAccountRepository(documents, table('Accounts')).setTechnicalContacts(client.tenant, [contact]);
    const address = `mail-${client.tenant.toLowerCase()}@example.com`;
    const phone = `+1202${String(Date.now()).slice(-7)}`;
    const ids = [
      await client.create({ label: 'm', type: 'email', details: { address } }),
      await client.create({ label: 's', type: 'sms', details: { phone_number: phone } }),
      await client.create({ label: 'p', type: 'incidentpager', details: { service_key: 'key1' } }),
      await client.create({ label: 'r', type: 'incidentrouter', details: router }),
      await client.create({ label: 'f', type: 'atomfeed', details: { category: 'db' } }),
      await client.create({ label: 'o', type: 'managed' }),
      'ntTechnicalContactsEmail',
    ];
    const event = newAlarmEvent(client.tenant, ids);
    await sendEvents([event]);

    const [mail] = await sent(1, (one) => one.kind === 'email' && one.to.includes(address));
    expect(mail).toMatchObject({
      subject: '[CRITICAL] web-1: Disk space',
      text: expect.stringContaining('Disk is 97 % full'),
    });
    await sent(1, (one) => one.kind === 'email' && one.to.includes(contact));
    const [text] = await sent(1, (one) => one.kind === 'sms' && one.to === phone);
    expect(text).toMatchObject({ text: '[CRITICAL] web-1: Disk space: Disk is 97 % full' });
    const [page] = await sent(1, (one) => one.kind === 'incidentpager' && one.body.includes(event.event_id));
    expect(JSON.parse(page && 'body' in page ? page.body : '')).toMatchObject({
      service_key: 'key1',
      event_type: 'trigger',
    });
    const [routed] = await sent(1, (one) => one.kind === 'incidentrouter' && one.body.includes(event.event_id));
    expect(routed).toMatchObject({ path: `/router/${router.api_key}/${router.routing_key}` });
    expect(JSON.parse(routed && 'body' in routed ? routed.body : '')).toMatchObject({
      message_type: 'CRITICAL',
      event_id: event.event_id,
    });
    const [entry] = await sent(1, (one) => one.kind === 'atomfeed' && one.body.includes(event.event_id));
    expect(entry).toMatchObject({ body: expect.stringContaining('term="monitoring.alerts.db"') });
    const [told] = await sent(1, (one) => one.kind === 'managed' && one.text.includes(event.event_id));
    expect(told).toMatchObject({ text: expect.stringMatching(new RegExp(`^Tenant: ${client.tenant}\n`)) });
    for (const id of ids) await delivery(client.tenant, id, 'delivered');
  });

  it('notifies only those that the plan lists for its state, once each, and only if the state changed', async () => {
    const sink = await openSink();
    const [critical, ok] = [await toWebhook(`${sink.url}/critical`), await toWebhook(`${sink.url}/ok`)];
    const plan = { id: 'np', critical_state: [critical, critical], ok_state: [ok] };
    const unchanged = newAlarmEvent(client.tenant, [], { notification_plan: plan, previous_state: 'CRITICAL' });
    const changed = newAlarmEvent(client.tenant, [], { notification_plan: plan });
    const recovered = newAlarmEvent(client.tenant, [], { notification_plan: plan, state: 'OK' });
    const unplanned = newAlarmEvent(client.tenant, [], { notification_plan: plan, state: 'WARNING' });
    const first = newAlarmEvent(client.tenant, [], { notification_plan: plan, previous_state: null });
    await sendEvents([unchanged, unplanned, changed, recovered, first]);
    await sink.wait(3);
    const got = sink.received.map(({ path, body }) => [path, payload.parse(JSON.parse(body)).event_id]);
    expect(got.toSorted()).toEqual(
      [
        ['/critical', changed.event_id],
        ['/critical', first.event_id],
        ['/ok', recovered.event_id],
      ].toSorted(),
    );
  });

  it("is not sent to another tenant's notification or to an unknown one, and its neighbours arrive", async () => {
    const [own, foreign] = [await openSink(), await openSink()];
    const other = await newClient();
    const foreignId = await other.create({ label: 'f', type: 'webhook', details: { url: foreign.url } });
    const ownId = await toWebhook(own.url);
    const mixed = newAlarmEvent(client.tenant, [foreignId, 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV', '__proto__', ownId]);
    const neighbour = newAlarmEvent(client.tenant, [ownId]);
    await sendEvents([mixed, neighbour]);
    await own.wait(2);
    expect(foreign.received).toHaveLength(0);
    expect(await deliveries(client.tenant, foreignId)).toEqual([]);
  });

  it('that is none goes to the dead-letter queue as it came, with the reason, and its neighbours arrive', async () => {
    const sink = await openSink();
    const id = await toWebhook(sink.url);
    const mark = `poison-${client.tenant}`;
    const good = newAlarmEvent(client.tenant, [id]);
    const { details: _details, ...withoutDetails } = newAlarmEvent(client.tenant, [id], { mark });
    const poison = [
      `{not json ${mark}`,
      `"${mark}"`,
      JSON.stringify({ ...good, tenant_id: 'has space', mark }),
      JSON.stringify({ ...good, details: { state: 'UNKNOWN' }, mark }),
      JSON.stringify({ ...good, notification_plan: { critical_state: 'nt1' }, mark }),
      JSON.stringify(withoutDetails),
    ];
    await sendEvents([...poison, good]);
    await sink.wait(1);
    for (const body of poison) {
      const dead = await deadLetter('AlarmEvents', (text) => text === body);
      expect(dead.attributes).toMatchObject({ reason: 'malformed', cause: 'service' });
    }
    expect(sink.received).toHaveLength(1);
  });

  it('of nearly a megabyte arrives, and one that is larger is dead-lettered', async () => {
    const sink = await openSink();
    const id = await toWebhook(sink.url);
    const sized = (bytes: number) => {
      const event = newAlarmEvent(client.tenant, [id], { filler: '' });
      return JSON.stringify({
        ...event,
        alarm: { ...event.alarm, filler: 'x'.repeat(bytes - JSON.stringify(event).length) },
      });
    };
    const large = sized(890 * 1024);
    const tooLarge = sized(950 * 1024);
    await sendEvents([large]);
    await sendEvents([tooLarge]);
    const [received] = await sink.wait(1);
    expect(received?.body.length).toBeGreaterThan(889 * 1024);
    expect((await deadLetter('AlarmEvents', (text) => text === tooLarge)).attributes).toMatchObject({
      reason: 'too_large',
    });
  });

  it('sent many times reaches a notification once', async () => {
    const sink = await openSink();
    const id = await toWebhook(sink.url);
    const event = newAlarmEvent(client.tenant, [id]);
    await sendEvents(Array.from({ length: 20 }, () => event));
    await sink.wait(1);
    await delivery(client.tenant, id, 'delivered');
    const last = newAlarmEvent(client.tenant, [id]);
    await sendEvents([event, last]);
    await sink.wait(1, ({ body }) => body.includes(last.event_id));
    expect(sink.received.filter(({ body }) => body.includes(event.event_id))).toHaveLength(1);
  });

  it('is tried again after a failure, with the same webhook-id, and arrives once the receiver is back', async () => {
    const sink = await openSink((response, _request, index) => response.writeHead(index < 2 ? 500 : 200).end());
    const id = await toWebhook(sink.url);
    await sendEvents([newAlarmEvent(client.tenant, [id])]);
    const attempts = await sink.wait(3);
    expect(new Set(attempts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const record = await delivery(client.tenant, id, 'delivered');
    expect(record.attempt_count).toBe(3);
    expect(record.attempts).toMatchObject([
      { result: 'transient', status: 500 },
      { result: 'transient', status: 500 },
      { result: 'delivered', status: 200 },
    ]);
  });

  it('that a receiver refuses for good is dead-lettered with the reason, and its owner hears of it once a day', async () => {
    const contact = `owner-${client.tenant.toLowerCase()}@example.com`;
    await createAccountRepository(documents, table('Accounts')).setTechnicalContacts(client.tenant, [contact]);
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await toWebhook(sink.url);
    const events = [newAlarmEvent(client.tenant, [id]), newAlarmEvent(client.tenant, [id])];
    await sendEvents(events);
    for (const { event_id } of events) {
      const dead = await deadLetter('webhook', (text) => text.includes(event_id));
      expect(dead.attributes).toMatchObject({ reason: 'http_status', cause: 'destination', attempts: '1' });
    }
    expect(sink.received).toHaveLength(2);
    const [notice] = await sent(1, (one) => one.kind === 'email' && one.to.includes(contact) && one.text.includes(id));
    expect(notice).toMatchObject({ subject: expect.stringContaining('Alerts could not be delivered') });
    await delivery(client.tenant, 'ntTechnicalContactsEmail', 'delivered');
    const notices = (await inbox()).filter(
      (one) => one.kind === 'email' && one.to.includes(contact) && one.text.includes(id),
    );
    expect(notices).toHaveLength(1);
  });

  it('for a notification that was deleted or changed meanwhile follows what it is now', async () => {
    const fixed = await openSink();
    const broken = await openSink((response) => response.writeHead(500).end());
    const id = await toWebhook(broken.url);
    await sendEvents([newAlarmEvent(client.tenant, [id])]);
    await broken.wait(1);
    await client.put(`/notifications/${id}`, { details: { url: fixed.url } });
    await fixed.wait(1);

    const gone = await toWebhook(broken.url);
    const event = newAlarmEvent(client.tenant, [gone]);
    await sendEvents([event]);
    await broken.wait(1, ({ body }) => body.includes(event.event_id));
    await client.delete(`/notifications/${gone}`);
    await delivery(client.tenant, gone, 'cancelled');

    const address = `changed-${client.tenant.toLowerCase()}@example.com`;
    const changed = await toWebhook(broken.url);
    const last = newAlarmEvent(client.tenant, [changed]);
    await sendEvents([last]);
    await broken.wait(1, ({ body }) => body.includes(last.event_id));
    await client.put(`/notifications/${changed}`, { type: 'email', details: { address } });
    await sent(1, (one) => one.kind === 'email' && one.to.includes(address));
  });
});
