import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { TRACE_ID, traceFields } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';
import { until } from '../support/until.ts';
import { sent, useAlerts } from './alerts.ts';

const { stack, ops, runJson, sink, create, sendExample, sendRaw, deliveriesTo } = useAlerts();

describe('event trace', () => {
  const step = z.strictObject({
    time: z.iso.datetime(),
    step: z.string(),
    notification_id: z.string().nullable(),
    notification_label: z.string().nullable(),
    type: z.string().nullable(),
    result: z.string(),
  });
  const traces = z.strictObject({
    events: z.array(
      z.looseObject({
        tenant_id: z.string().nullable(),
        event_id: z.string().nullable(),
        producer_message_id: z.string().nullable(),
        dead_letters: z.array(z.looseObject({ type: z.string(), reason: z.string() })),
        timeline: z.array(step),
      }),
    ),
    unread_dead_letters: z.strictObject({}),
  });
  const traced = async (options: string) => (await runJson(traces, `event trace ${options}`)).events;
  const send = async (text: string) => runJson(sent, 'event send -', text);
  let rejecting = '';
  let accepting = '';
  beforeAll(async () => {
    rejecting = await create('rejecting', 'webhook', { url: `${sink.url}/410` });
    accepting = await create('accepting', 'email', validDetails.email);
  });

  it('shows what happened in order of time, by event ID', async () => {
    const id = await sendExample(rejecting, accepting);
    const [found, ...others] = await until(async () => {
      const all = await traced(id).catch(() => []);
      return all[0]?.timeline.some((each) => each.step === 'notice: attempt') && all;
    });
    expect(others).toEqual([]);
    expect(found).toMatchObject({ tenant_id: 'acme', event_id: id, dead_letters: [{ type: 'webhook' }] });
    const times = found?.timeline.map(({ time }) => time) ?? [];
    expect(times).toEqual(times.toSorted());
    expect(
      found?.timeline.map((each) => [each.step, each.notification_id, each.result.replace(/\d+ ms/, 'ms')]),
    ).toEqual(
      expect.arrayContaining([
        ['accepted', null, 'CRITICAL'],
        ['dispatched', null, '2 deliveries'],
        ['attempt', rejecting, 'permanent 410 http_status, ms'],
        ['attempt', accepting, 'delivered, ms'],
        ['failed', rejecting, 'http_status'],
        ['dead letter', rejecting, 'webhook: http_status (destination)'],
        ['notice', 'ntTechnicalContactsEmail', 'undelivered'],
      ]),
    );
    expect(found?.timeline.slice(0, 2).map((each) => each.step)).toEqual(['accepted', 'dispatched']);
    expect(await ops(`event trace ${id} --tenant globex`)).toMatchObject({ code: 1, out: '' });
    expect((await ops(['event', 'trace', id])).out).toMatch(
      new RegExp(
        `^event +${id}\ntenant +acme\nmessage +[\\w-]+\n\ntime +step +notification +type +label +result\n.* accepted `,
      ),
    );
  });

  it('finds an event by the message ID of its producer, with and without the tenant', async () => {
    const { out } = await ops(['event', 'example', '--notification', accepting]);
    const own = JSON.stringify({ ...JSON.parse(out), event_id: 'own-id', traceparent: traceFields.traceparent });
    const { message_id: id } = await send(own);
    await until(async () => (await deliveriesTo(accepting)).some((each) => each.event_id === 'own-id'));
    const expected = { tenant_id: 'acme', event_id: 'own-id', producer_message_id: id, trace_id: TRACE_ID };
    for (const options of [id, `${id} --tenant acme`, 'own-id', 'own-id --tenant acme']) {
      expect(await traced(options)).toMatchObject([expected]);
    }
    expect(await ops(`event trace ${id} --tenant globex`)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^There is neither a delivery nor a dead letter of /),
    });
  });

  it('shows no dead letter of another tenant’s event with the same ID, by message ID', async () => {
    const { out } = await ops(['event', 'example', '--notification', accepting]);
    const { message_id: id } = await send(JSON.stringify({ ...JSON.parse(out), event_id: 'same-id' }));
    await until(async () => (await deliveriesTo(accepting)).some((each) => each.event_id === 'same-id'));
    await sendRaw(JSON.stringify({ event_id: 'same-id', tenant_id: 'globex' }));
    await until(async () => (await traced('same-id')).length === 2);
    expect(await traced(id)).toMatchObject([{ tenant_id: 'acme', dead_letters: [] }]);
  });

  it('shows the escalation of an event that reached nobody', async () => {
    const { out } = await ops(['event', 'example', '--notification', rejecting]);
    const { event_id: id } = await send(JSON.stringify({ ...JSON.parse(out), alarm: { id: 'alEscalated' } }));
    const found = await until(async () => {
      const [first] = await traced(id).catch(() => []);
      const steps = first?.timeline.filter((each) => each.step === 'escalation') ?? [];
      return steps.length === 2 && steps;
    });
    expect(found.map(({ notification_id, result }) => [notification_id, result])).toEqual(
      expect.arrayContaining([
        ['ntTechnicalContactsEmail', 'unreached'],
        ['ntOperators', 'unreached'],
      ]),
    );
  });

  it('shows the escalation of an event whose plan lists only unknown notifications, by message ID', async () => {
    const { out } = await ops(['event', 'example', '--notification', 'ntUnknown']);
    const unknown = JSON.stringify({ ...JSON.parse(out), alarm: { id: 'alUnknown' } });
    const id = await sendRaw(unknown);
    const [found] = await until(async () => {
      const all = await traced(`${id} --tenant acme`).catch(() => []);
      return (all[0]?.timeline ?? []).length >= 2 && all;
    });
    expect(found).toMatchObject({ tenant_id: 'acme', event_id: null, producer_message_id: id });
    expect(found?.timeline[0]).toMatchObject({ step: 'escalation', result: 'unreached' });
  });

  it('shows deliveries to a deleted notification by a scan', async () => {
    const deleted = await create('deleted', 'email', { address: 'deleted@example.com' });
    const id = await sendExample(deleted);
    await until(async () => (await deliveriesTo(deleted)).length > 0);
    await fetch(`${stack.base_url}/notifications/${deleted}`, {
      method: 'DELETE',
      headers: { 'x-auth-token': stack.tokens.admin },
    });
    expect(await ops(`event trace ${id} --tenant acme`)).toMatchObject({ code: 1 });
    expect(await traced(id)).toMatchObject([{ event_id: id }]);
  });

  it('shows why an invalid event was dead-lettered', async () => {
    const id = await sendRaw('{"event_id":"invalid","tenant_id":"acme"}');
    const [found] = await until(async () => {
      const all = await traced(id).catch(() => []);
      return all.length > 0 && all;
    });
    expect(found).toMatchObject({ tenant_id: 'acme', event_id: 'invalid', producer_message_id: id, deliveries: [] });
    expect(found?.timeline).toMatchObject([
      {
        step: 'dead letter',
        result: expect.stringMatching(/^alarm-events: malformed \(producer\) .*alarm is required/),
      },
    ]);
    expect(await traced('invalid')).toEqual([found]);
  });
});
