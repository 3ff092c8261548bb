import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';
import { startStackWithCommandLine } from './command-line.ts';

const stack = await startStackWithCommandLine();
const { ops, runJson } = stack;
/** Answers what its path says, until it is mended. */
const receiver = { isMended: false };
const sink = await startSink((response, { path }) => {
  response.writeHead(receiver.isMended ? 204 : Number(path.slice(1))).end('secret answer');
});
afterAll(async () => {
  sink.close();
  await stack.stop();
  stack.directory.remove();
});

const create = async (label: string, type: string, details: Record<string, string>): Promise<string> => {
  const response = await fetch(`${stack.base_url}/notifications`, {
    method: 'POST',
    headers: { 'x-auth-token': stack.tokens.admin },
    body: JSON.stringify({ label, type, details }),
  });
  return response.headers.get('location')?.split('/').at(-1) ?? '';
};

const sent = z.object({ message_id: z.string(), event_id: z.string(), notifications: z.array(z.string()) });
/** Sends an example event to these notifications, and answers its id. */
const raise = async (...ids: string[]): Promise<string> => {
  const { out } = await ops(['event', 'example', '--notification', ...ids]);
  return (await runJson(sent, 'event send -', out)).event_id;
};

const deliveries = z.array(
  z.looseObject({
    notification: z.string(),
    event: z.string(),
    alarm: z.string(),
    state: z.string(),
    status: z.string(),
    attempts: z.array(z.looseObject({ outcome: z.string(), http_status: z.number().nullable() })),
    conflict: z.string().nullable(),
  }),
);
const letters = z.array(
  z.strictObject({
    type: z.string(),
    count: z.number(),
    letters: z.array(z.looseObject({ reason: z.string(), cause: z.string(), event: z.string().optional() })),
  }),
);

const deliveriesTo = (notificationId: string) =>
  runJson(deliveries, `deliveries --tenant acme --notification ${notificationId}`);

let gone = '';
let mail = '';
let event = '';

beforeAll(async () => {
  gone = await create('gone', 'webhook', { url: `${sink.url}/410` });
  mail = await create('mail', 'email', { address: 'oncall@example.com' });
  event = await raise(gone, mail);
  await until(async () => {
    const found = await runJson(deliveries, 'deliveries --tenant acme --alarm alTest');
    return found.length === 2 && found.every(({ status }) => status !== 'pending');
  });
});

describe('event', () => {
  it('prints a valid event, which arrives with those whom it names', async () => {
    const { out } = await ops(['event', 'example', '--tenant', 'globex', '--notification', 'ntX', '--state', 'OK']);
    expect(JSON.parse(out)).toMatchObject({
      event_id: expect.stringMatching(/^globex:.*:OK$/),
      tenant_id: 'globex',
      previous_state: 'CRITICAL',
      notification_plan: { ok_state: ['ntX'] },
    });
    const answered = await ops('event send -', { input: out });
    expect(answered.out).toMatch(/^Sent as [\w-]+\. Its plan names 1 notification for this change of state\.\n$/);
  });

  it.each([
    ['{"event_id": 1}', /^Standard input is no alarm event: event_id must be a string; tenant_id .*; alarm .*\.\n$/],
    ['[]', 'Standard input is no alarm event: it must be a JSON object.\n'],
    ['{', /^Standard input is not JSON: .*\n$/],
  ])('names what is wrong with %s, and sends nothing', async (input, sentence) => {
    expect(await ops('event send -', { input })).toEqual({ code: 1, out: '', err: expect.stringMatching(sentence) });
  });

  it('refuses a plan of which nobody can tell whom it names', async () => {
    const plan = { notification_plan: { critical_state: 'ntX' } };
    const input = JSON.stringify({ ...JSON.parse((await ops('event example')).out), ...plan });
    const { code, err } = await ops('event send -', { input });
    expect([code, err]).toEqual([1, expect.stringMatching(/notification_plan must be an object whose lists hold ids/)]);
  });

  it('names a file that is not there', async () => {
    const { code, err } = await ops('event send nothing.json');
    expect([code, err]).toEqual([1, expect.stringMatching(/^nothing\.json cannot be read: ENOENT/)]);
  });
});

describe('deliveries', () => {
  it('shows what became of an alarm with each notification, newest first', async () => {
    const found = await runJson(deliveries, 'deliveries --tenant acme --alarm alTest');
    expect(found.find(({ notification }) => notification === gone)).toMatchObject({
      event,
      state: 'CRITICAL',
      status: 'failed',
      attempts: [{ outcome: 'permanent', http_status: 410 }],
    });
    expect(found.find(({ notification }) => notification === mail)).toMatchObject({ status: 'delivered' });
    const { out } = await ops('deliveries --tenant acme --alarm alTest');
    expect(out).toMatch(/^time +notification +event +state +status +attempts +id used again\n/);
    expect(out).toMatch(/permanent 410 +–\n/);
    expect(out).not.toContain('\u001b');
  });

  it('shows those of one notification', async () => {
    const found = await runJson(deliveries, `deliveries --tenant acme --notification ${mail}`);
    expect(found.map(({ notification, status }) => [notification, status])).toEqual([[mail, 'delivered']]);
  });

  it('shows no more than are asked for, of the default notification too', async () => {
    const all = await runJson(deliveries, 'deliveries --tenant acme');
    // The third is the notice to the technical contacts that an alert was given up.
    expect(all.map(({ notification }) => notification)).toContain('ntTechnicalContactsEmail');
    expect(await runJson(deliveries, 'deliveries --tenant acme --limit 1')).toEqual(all.slice(0, 1));
  });

  it('shows nothing of another tenant, nor of another alarm', async () => {
    expect(await runJson(deliveries, `deliveries --tenant other --notification ${mail}`)).toEqual([]);
    const { code, out } = await ops('deliveries --tenant acme --alarm alOther');
    expect([code, out]).toEqual([0, 'There are no such deliveries.\n']);
  });
});

describe('status', () => {
  it('shows queues, dead letters, and what became of the deliveries of the last hour', async () => {
    const status = z.strictObject({
      stack: z.string(),
      queues: z.array(z.looseObject({ queue: z.string(), visible: z.number(), dead_letters: z.number().nullable() })),
      alarms: z.null(),
      deliveries: z.object({
        counts: z.array(z.strictObject({ type: z.string(), outcome: z.string(), deliveries: z.number() })),
        is_complete: z.literal(true),
      }),
    });
    const found = await runJson(status, 'status');
    expect(found.queues.map(({ queue }) => queue)).toEqual(
      expect.arrayContaining(['alarm-events', 'email', 'managed', 'email-events', 'crashed']),
    );
    expect(found.queues.find(({ queue }) => queue === 'webhook')).toMatchObject({ visible: 0, dead_letters: 1 });
    expect(found.deliveries.counts).toContainEqual({ type: 'webhook', outcome: 'dead_lettered', deliveries: 1 });
    expect(found.deliveries.counts).toContainEqual({ type: 'email', outcome: 'delivered', deliveries: 1 });
    const { code, out } = await ops('status');
    expect([code, out]).toEqual([0, expect.stringMatching(/\nAlarms\nnot on one machine\n/)]);
    expect(out).toMatch(/\nqueue +visible +in flight +delayed +oldest +dead letters\n/);
    expect(out).toMatch(/\nwebhook +0 +0 +0 +– +1\n/);
  });
});

describe('dead-letters', () => {
  it('lists why they are there, again and again, without what is in them', async () => {
    const expected = {
      type: 'webhook',
      count: 1,
      letters: [
        { reason: 'http_status', cause: 'destination', attempts: 1, tenant: 'acme', notification: gone, event },
      ],
    };
    const all = await runJson(letters, 'dead-letters list');
    expect(all.filter(({ count }) => count > 0)).toMatchObject([expected]);
    const { out } = await ops('dead-letters list');
    expect(out).toMatch(/^webhook: 1 dead letter \(http_status ×1\)\n\ntime +type +reason +cause +attempts +tenant/);
    expect(out).not.toMatch(/example of an alarm event|secret answer/);
  });

  it('says that there are none', async () => {
    expect(await ops('dead-letters list sms')).toEqual({ code: 0, out: 'There are no dead letters.\n', err: '' });
  });

  it('throws none away without being told twice, and says how many there are', async () => {
    const sentence = /^This would throw away 1 dead letter of webhook in the local stack .* for good: say --yes\.\n$/;
    expect(await ops('dead-letters purge webhook')).toEqual({ code: 2, out: '', err: expect.stringMatching(sentence) });
  });

  it('moves them back to their queue, from which they are delivered where the destination is mended', async () => {
    receiver.isMended = true;
    const { code, out } = await ops('dead-letters redrive webhook');
    expect([code, out]).toEqual([0, 'Moved 1 dead letter to the queue of webhook.\n']);
    await until(async () => (await deliveriesTo(gone))[0]?.status === 'delivered');
    const moved = z.strictObject({ type: z.literal('webhook'), moved: z.literal(0) });
    expect(await runJson(moved, 'dead-letters redrive webhook')).toEqual({ type: 'webhook', moved: 0 });
  });

  it('throws them away', async () => {
    receiver.isMended = false;
    await raise(gone);
    await until(async () => (await deliveriesTo(gone))[0]?.status === 'failed');
    const { code, out } = await ops('dead-letters purge webhook --yes');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Threw away 1 dead letter of webhook in the local stack/)]);
    expect(await runJson(letters, 'dead-letters list webhook')).toMatchObject([{ count: 0, letters: [] }]);
  });

  it('moves crashed messages to their queues, of which there are none here', async () => {
    expect(await ops('dead-letters redrive crashed')).toEqual({
      code: 0,
      out: 'Moved 0 crashed messages to their queues.\n',
      err: '',
    });
  });

  it('knows only the types that there are', async () => {
    const { code, err } = await ops('dead-letters redrive fax');
    expect([code, err]).toEqual([2, expect.stringMatching(/^error: .*fax.*alarm-events, email, webhook/)]);
  });
});

describe('an event id that is used again', () => {
  it('is shown beside the delivery of the first event', async () => {
    const own = await create('own', 'email', { address: 'own@example.com' });
    const { out } = await ops(['event', 'example', '--notification', own]);
    const first = (await runJson(sent, 'event send -', out)).event_id;
    await runJson(sent, 'event send -', JSON.stringify({ ...JSON.parse(out), check: { id: 'another' } }));
    const conflicting = await until(async () => {
      const found = (await deliveriesTo(own)).filter(({ conflict }) => conflict !== null);
      return found.length > 0 && found;
    });
    expect(conflicting.map(({ event: id }) => id)).toEqual([first]);
  });
});
