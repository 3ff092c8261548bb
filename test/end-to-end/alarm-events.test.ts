import { describe, expect, it } from 'vitest';
import { MAX_EVENT_BYTES } from '../../shared/domain/planned-event.ts';
import { newAlarmEvent, TRACE_ID, traceFields } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';
import { openSink } from '../support/test-sink.ts';
import { useStarted } from '../support/use-started.ts';
import { isLocal, newClient } from './support/api.ts';
import { delivery, sendEvents, sent } from './support/pipeline.ts';

const { api_key: apiKey } = validDetails.incidentrouter;
const router = { ...validDetails.incidentrouter, routing_key: 'team' };

describe.runIf(isLocal)('an alarm event', () => {
  const client = useStarted(() => newClient());
  const toWebhook = (url: string) => client.create({ label: 'w', type: 'webhook', details: { url } });

  it('reaches a webhook with the headers of its trace, whose ID the history shows', async () => {
    const sink = await openSink();
    const id = await toWebhook(sink.url);
    await sendEvents([newAlarmEvent(client.tenant, [id], traceFields)]);
    const [received] = await sink.wait(1);
    expect(received?.headers).toMatchObject(traceFields);
    expect(received?.body).not.toContain('trace');
    await delivery(client.tenant, id, 'delivered');
    const { text } = await client.get(`/notifications/${id}/deliveries`);
    expect(JSON.parse(text)).toMatchObject({ values: [{ trace_id: TRACE_ID }] });
    expect(text).not.toContain('secret-state');
  });

  it('reaches email, SMS, pager, router, feed, technical contacts and operators', async () => {
    const contact = `contact-${client.tenant.toLowerCase()}@example.com`;
    await client.put('/account', { technical_contacts: [contact] });
    const address = `email-${client.tenant.toLowerCase()}@example.com`;
    const phone = `+1202${String(Date.now()).slice(-7)}`;
    const ids = [
      await client.create({ label: 'e', type: 'email', details: { address } }),
      await client.create({ label: 's', type: 'sms', details: { phone_number: phone } }),
      await client.create({ label: 'p', type: 'incidentpager', details: validDetails.incidentpager }),
      await client.create({ label: 'r', type: 'incidentrouter', details: router }),
      await client.create({ label: 'f', type: 'atomfeed', details: validDetails.atomfeed }),
      await client.create({ label: 'o', type: 'managed' }),
      'ntTechnicalContactsEmail',
    ];
    const event = newAlarmEvent(client.tenant, ids);
    await sendEvents([event]);

    const [email] = await sent(1, (message) => message.kind === 'email' && message.to.includes(address));
    expect(email).toMatchObject({
      subject: '[CRITICAL] web-1: Disk space',
      text: expect.stringContaining('Disk is full'),
    });
    await sent(1, (message) => message.kind === 'email' && message.to.includes(contact));
    const [sms] = await sent(1, (message) => message.kind === 'sms' && message.to === phone);
    expect(sms).toMatchObject({ text: '[CRITICAL] web-1: Disk space: Disk is full' });
    const [page] = await sent(
      1,
      (message) => message.kind === 'incidentpager' && message.body.includes(event.event_id),
    );
    expect(JSON.parse(page && 'body' in page ? page.body : '')).toMatchObject({
      service_key: validDetails.incidentpager.service_key,
      event_type: 'trigger',
    });
    const [routerEvent] = await sent(
      1,
      (message) => message.kind === 'incidentrouter' && message.body.includes(event.event_id),
    );
    expect(routerEvent).toMatchObject({ path: `/router/${apiKey}/${router.routing_key}` });
    expect(JSON.parse(routerEvent && 'body' in routerEvent ? routerEvent.body : '')).toMatchObject({
      message_type: 'CRITICAL',
      event_id: event.event_id,
    });
    const [entry] = await sent(1, (message) => message.kind === 'atomfeed' && message.body.includes(event.event_id));
    expect(entry).toMatchObject({ body: expect.stringContaining('term="monitoring.alerts.databases"') });
    const [managed] = await sent(1, (message) => message.kind === 'managed' && message.text.includes(event.event_id));
    expect(managed).toMatchObject({ text: expect.stringMatching(new RegExp(`^Tenant: ${client.tenant}\n`)) });
    for (const id of ids) await delivery(client.tenant, id, 'delivered');
  });

  it('of 256 KiB arrives', async () => {
    const sink = await openSink();
    const id = await toWebhook(sink.url);
    const event = newAlarmEvent(client.tenant, [id], { filler: '' });
    const withFiller = (filler: string) => JSON.stringify({ ...event, alarm: { ...event.alarm, filler } });
    const filler = 'x'.repeat(MAX_EVENT_BYTES - withFiller('').length);
    await sendEvents([withFiller(filler)]);
    const [received] = await sink.wait(1);
    expect(JSON.parse(received?.body ?? '')).toMatchObject({ alarm: { filler } });
  });
});
