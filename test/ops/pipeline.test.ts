import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { validDetails } from '../support/notifications.ts';
import { until } from '../support/until.ts';
import { deliveries, sent, useAlerts } from './alerts.ts';
import { connectTables } from './command-line.ts';

const { stack, ops, runJson, receiver, sink, create, sendExample, sendRaw, deliveriesTo } = useAlerts();

const deadLetterLists = z.array(
  z.strictObject({
    type: z.string(),
    count: z.number(),
    has_more: z.boolean(),
    letters: z.array(
      z.looseObject({
        reason: z.string(),
        cause: z.string(),
        event_id: z.string().optional(),
        message_id: z.string(),
        producer_message_id: z.string().optional(),
        delivery_status: z.string().nullable(),
      }),
    ),
  }),
);

let gone = '';
let email = '';
let event = '';
/** The event with the ID `event`, which was sent to both notifications. */
let sentEvent = '';

beforeAll(async () => {
  gone = await create('gone', 'webhook', { url: `${sink.url}/410` });
  email = await create('email', 'email', validDetails.email);
  sentEvent = (await ops(['event', 'example', '--notification', gone, email])).out;
  event = (await runJson(sent, 'event send -', sentEvent)).event_id;
  await until(async () => {
    const found = await runJson(deliveries, 'deliveries --tenant acme --alarm alTest');
    return found.length === 2 && found.every(({ status }) => status !== 'pending');
  });
});

describe('event', () => {
  it('prints a valid event for the given tenant, notifications and state', async () => {
    const { out } = await ops(['event', 'example', '--tenant', 'globex', '--notification', 'ntX', '--state', 'OK']);
    expect(JSON.parse(out)).toMatchObject({
      event_id: expect.stringMatching(/^globex:.*:OK$/),
      tenant_id: 'globex',
      previous_state: 'CRITICAL',
      notification_plan: { ok_state: ['ntX'] },
    });
    const sendResult = await ops('event send -', { input: out });
    expect(sendResult.out).toMatch(/^Sent as [\w-]+\. Its plan lists 1 notification for this state change\.\n$/);
  });

  it.each([
    ['{"event_id": 1}', /event_id must be a string; tenant_id is required; .*; notification_plan is required\.\n/],
    ['7', /: the event must be a JSON object\.\n/i],
    ['{', /: the event must be JSON \(.* at position 1 .*\)\.\n/i],
  ])('explains why %s is invalid, and sends nothing', async (input, message) => {
    const [sendResult, checkResult] = await Promise.all([
      ops('event send -', { input }),
      ops('event check -', { input }),
    ]);
    expect(sendResult).toEqual({ code: 1, out: '', err: expect.stringMatching(message) });
    expect(sendResult.err).toMatch(/^Standard input is not a valid alarm event: /);
    expect(checkResult).toEqual({ code: 1, out: expect.stringMatching(message), err: '' });
    expect(checkResult.out).toMatch(/^Standard input\n {2}Error: .*\nStandard input is not a valid alarm event\.\n$/);
  });

  it('sends an event with characters that SQS accepts only in JSON escapes', async () => {
    const { out } = await ops(['event', 'example', '--notification', 'nt\ufffe']);
    expect(await ops('event send -', { input: out })).toMatchObject({ code: 0 });
  });

  it('does not send several events, or a file that does not exist', async () => {
    expect(await ops('event send -', { input: '[{},{}]' })).toMatchObject({ code: 2, out: '' });
    const { code, err } = await ops('event send nothing.json');
    expect([code, err]).toEqual([1, expect.stringMatching(/^nothing\.json cannot be read: ENOENT/)]);
  });
});

describe('report', () => {
  const share = z.object({ within_seconds: z.number(), share: z.number().nullable() });
  const counts = { deliveries_planned: z.number(), deliveries_delivered: z.number(), shares: z.array(share) };
  const report = z.looseObject({
    month: z.string(),
    is_complete: z.boolean(),
    total: z.looseObject(counts),
    days: z.array(
      z.looseObject({
        date: z.string(),
        p50_ms: z.number().nullable(),
        first_attempt_p99_ms: z.number().nullable(),
        ...counts,
      }),
    ),
  });

  it('shows which share of the deliveries of this month arrived in time, by day and in total', async () => {
    const found = await until(async () => {
      const current = await runJson(report, 'report');
      return current.total.deliveries_delivered >= 1 && current.total.deliveries_planned >= 2 && current;
    });
    expect(found.is_complete).toBe(false);
    expect(found.days.map(({ date }) => date.slice(0, 7))).toEqual(found.days.map(() => found.month));
    expect(found.days.some(({ p50_ms }) => p50_ms !== null)).toBe(true);
    expect(found.days.some(({ first_attempt_p99_ms: p99 }) => p99 !== null)).toBe(true);
    expect(found.total.shares.map(({ within_seconds }) => within_seconds)).toEqual([10, 60, 300]);
    for (const { share: found_share } of found.total.shares) expect(found_share).toBeLessThan(1);
    const lastMonth = new Date(new Date().setUTCDate(0)).toISOString().slice(0, 7);
    expect((await ops(`report --month ${lastMonth}`)).out).toBe(`CloudWatch has no deliveries of ${lastMonth}.\n`);
    const { out } = await ops('report');
    expect(out).toMatch(
      /^day +planned +10 s +60 s +300 s +p50, ms +p99, ms +first p50, ms +first p99, ms +delivered +failed +superseded +/,
    );
  });

  it.each(['2020-01', '2999-01', '2026-13', 'soon'])('rejects the month %s', async (month) => {
    const { code, err } = await ops(`report --month ${month}`);
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringMatching(/ is invalid\. It must be a month from \d{4}-\d\d to \d{4}-\d\d\.\n$/),
    });
  });
});

describe('deliveries', () => {
  it('shows the deliveries of an alarm and their attempts', async () => {
    const found = await runJson(deliveries, 'deliveries --tenant acme --alarm alTest');
    expect(found.find(({ notification_id }) => notification_id === gone)).toMatchObject({
      event_id: event,
      state: 'CRITICAL',
      status: 'failed',
      attempts: [{ result: 'permanent', status_code: 410 }],
    });
    expect(found.find(({ notification_id }) => notification_id === email)).toMatchObject({ status: 'delivered' });
    const { out } = await ops('deliveries --tenant acme --alarm alTest');
    expect(out).toMatch(/^time +notification +type +label +event +state +status +reason +attempts\n/);
    expect(out).toMatch(/ failed +http_status +permanent 410\n/);
    expect(out).toContain(gone);
    expect(out).not.toContain('\u001b');
  });

  it('shows deliveries of the default notification too, up to the limit', async () => {
    // The third delivery is the notice of the dead letter to the technical contacts. Notices may arrive between two
    // commands.
    await until(async () => {
      const all = await runJson(deliveries, 'deliveries --tenant acme');
      const limited = await runJson(deliveries, 'deliveries --tenant acme --limit 1');
      return (
        all.length >= 3 &&
        all.some(({ notification_id }) => notification_id === 'ntTechnicalContactsEmail') &&
        isDeepStrictEqual(limited, all.slice(0, 1))
      );
    });
  });

  it('shows the deliveries with a status since a time or for a duration', async () => {
    const ids = (options: string) =>
      runJson(deliveries, `deliveries --tenant acme --notification ${gone} ${options}`).then((found) =>
        found.map(({ notification_id }) => notification_id),
      );
    expect(await ids('--status failed --since 1h')).toEqual([gone]);
    expect(await ids('--status delivered')).toEqual([]);
    expect(await ids('--since 2026-11-20T09:00Z')).toEqual([gone]);
    expect(await ids(`--since ${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
    expect(await ops('deliveries --tenant acme --since yesterday')).toMatchObject({
      code: 2,
      err: expect.stringContaining('It must be a duration such as 90m, 24h or 7d, or a time'),
    });
  });

  it('retries those that wait now, once an hour', async () => {
    const { database, tableNamed } = await connectTables(stack);
    const notification = { tenant: 'waiting', id: newNotificationId() };
    const next_attempt_at_ms = Date.now() + 3_600_000;
    const other = { tenant: 'waiting-too', id: newNotificationId() };
    const waits = { status: 'pending', next_attempt_at_ms, alarm_id: 'alWaiting' } as const;
    await writeRecords(database, tableNamed('Deliveries'), [
      deliveryRecord(notification, 'waits', waits),
      deliveryRecord(notification, 'delivered', { alarm_id: 'alWaiting' }),
      deliveryRecord(other, 'waits too', waits),
    ]);
    const retry = `deliveries --tenant waiting --notification ${notification.id} --retry-now`;
    const retried = z.array(z.looseObject({ event_id: z.string(), next_attempt_at: z.number().nullable() }));
    const dueTimes = (await runJson(retried, retry)).map(({ event_id, next_attempt_at: due }) => [event_id, due]);
    expect(Object.fromEntries(dueTimes)).toEqual({ waits: expect.any(Number) });
    expect(Object.fromEntries(dueTimes).waits).toBeLessThan(next_attempt_at_ms);
    expect(await ops(retry)).toMatchObject({
      code: 0,
      err: expect.stringContaining(
        'Retried within 15 minutes, unless in progress or retried within an hour: 0 of 1 deliveries.',
      ),
    });
    const ofAll = z.array(z.looseObject({ tenant_id: z.string(), next_attempt_at: z.number() }));
    const allDue = await runJson(ofAll, 'deliveries --retry-now --alarm alWaiting --why INC-7');
    expect(allDue.map(({ tenant_id }) => tenant_id).toSorted()).toEqual(['waiting', 'waiting-too']);
    for (const { next_attempt_at } of allDue) expect(next_attempt_at).toBeLessThan(next_attempt_at_ms);
    const { out, err } = await ops('deliveries --retry-now --alarm alWaiting --limit 1');
    expect(out).toMatch(/^time +tenant +notification /);
    expect(err).toContain(
      'Retried within 15 minutes, unless in progress or retried within an hour: 0 of 1 deliveries. There may be more: raise --limit.',
    );
    database.destroy();
    const audits = z.array(z.looseObject({ action: z.string(), target_id: z.string().nullable() }));
    expect(await runJson(audits, 'audits waiting')).toEqual([
      expect.objectContaining({ action: 'redeliver', target_id: notification.id }),
    ]);
    expect(await runJson(audits, 'audits waiting-too')).toMatchObject([
      { action: 'redeliver', target_id: other.id, why: 'INC-7' },
    ]);
  });

  it('shows no deliveries of another tenant or another alarm', async () => {
    expect(await runJson(deliveries, `deliveries --tenant globex --notification ${email}`)).toEqual([]);
    const { code, out } = await ops('deliveries --tenant acme --alarm alOther');
    expect([code, out]).toEqual([0, 'There are no such deliveries.\n']);
  });
});

it('status shows queues, dead letters, and the deliveries of the last hour', async () => {
  const status = z.strictObject({
    stack: z.string(),
    version: z.string(),
    commit: z.literal('unknown'),
    deployed_at: z.null(),
    settings: z.looseObject({ heartbeatUrl: z.literal('(set)'), retryDelayScale: z.literal(0.001) }),
    queues: z.array(z.looseObject({ queue: z.string(), visible: z.number(), dead_letters: z.number().nullable() })),
    alarms: z.null(),
    deliveries: z.array(z.strictObject({ type: z.string(), outcome: z.string(), deliveries: z.number() })),
  });
  const found = await runJson(status, 'status');
  expect(found.queues.map(({ queue }) => queue)).toEqual(
    expect.arrayContaining(['alarm-events', 'email', 'managed', 'email-events', 'delivery-reports', 'crashed']),
  );
  expect(found.queues.find(({ queue }) => queue === 'webhook')).toMatchObject({ visible: 0, dead_letters: 1 });
  for (const [type, outcome] of [
    ['webhook', 'dead_lettered'],
    ['email', 'delivered'],
  ]) {
    expect(found.deliveries).toContainEqual({ type, outcome, deliveries: expect.any(Number) });
  }
  const { code, out } = await ops('status');
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(
      /^local stack .*\nversion \S+, commit unknown\n\nSettings that differ from their defaults\n(.*\n)*retryDelayScale=0.001\n(.*\n)*Alarms\nA local stack has no alarms\.\n/,
    ),
  ]);
  expect(out).toMatch(/\nqueue +visible +in flight +delayed +oldest +dead letters\n/);
  expect(out).toMatch(/\nwebhook +0 +0 +0 +– +1\n/);
});

describe('dead-letters', () => {
  it('lists the same dead letters each time, with their reasons and without their contents', async () => {
    const expected = {
      type: 'webhook',
      count: 1,
      letters: [
        {
          reason: 'http_status',
          cause: 'destination',
          attempts: 1,
          tenant_id: 'acme',
          notification_id: gone,
          event_id: event,
        },
      ],
    };
    const all = await runJson(deadLetterLists, 'dead-letters list');
    expect(all.filter(({ count }) => count > 0)).toMatchObject([expected]);
    const { out } = await ops('dead-letters list');
    expect(out).toMatch(
      /^webhook: 1 dead letter \(cause destination: http_status ×1\)\n\ntime +reason +.*tenant +notification +label +event\n/,
    );
    expect(out).not.toMatch(/example of an alarm event|secret response/);
  });

  const found = async (options: string) =>
    (await runJson(deadLetterLists, `dead-letters list ${options}`)).flatMap(({ letters }) => letters);

  it('lists only those of the given tenant, notification, event and message', async () => {
    const [letter] = await found('webhook');
    const own = [`--tenant acme`, `--notification ${gone}`, `--event ${event}`, `--message ${letter?.message_id}`];
    for (const option of [...own, own.join(' ')]) expect(await found(option)).toEqual([letter]);
    for (const option of own) expect(await found(`${option} --event another`)).toEqual([]);
    expect(await ops('dead-letters list --tenant globex')).toMatchObject({ out: 'There are no such dead letters.\n' });
  });

  it('does not purge without --yes, and reports the number of dead letters', async () => {
    const message =
      /^Target: .*\nThis would permanently delete 1 dead letter of webhook \(acme ×1\) in the local stack .*: confirm with --yes\.\n$/;
    expect(await ops('dead-letters purge webhook')).toEqual({ code: 2, out: '', err: expect.stringMatching(message) });
  });

  it('only counts what a change would concern with --dry-run, by cause and time of the failure', async () => {
    const counted = z.looseObject({ count: z.number() });
    const count = async (options: string) =>
      (await runJson(counted, `dead-letters redrive webhook --dry-run ${options}`)).count;
    expect(await runJson(counted, 'dead-letters purge webhook --dry-run --cause destination --since 1h')).toEqual({
      type: 'webhook',
      dry_run: true,
      count: 1,
      has_more: false,
      tenants: [{ tenant_id: 'acme', count: 1 }],
    });
    const options = ['--until 1s', '--until 1h', '--since 2026-01-01', '--since 2999-01-01', '--cause service'];
    expect(await Promise.all(options.map(count))).toEqual([1, 0, 1, 0, 0]);
    expect(await found('webhook --cause service')).toEqual([]);
    expect((await ops('dead-letters redrive webhook --dry-run')).out).toBe(
      'This would redrive 1 dead letter of webhook (acme ×1).\n',
    );
  });

  it('redrives the selected dead letters to their queue, from which they are delivered', async () => {
    receiver.isFixed = true;
    const nothing = await ops('dead-letters redrive webhook --tenant globex');
    expect(nothing).toMatchObject({ code: 0, out: 'Moved 0 dead letters of webhook to its queue.\n' });
    const { code, out, err } = await ops(`dead-letters redrive webhook --event ${event}`);
    expect(err).toMatch(/^Target: .*\nRedrives 1 dead letter of webhook \(acme ×1\)\.\n$/);
    expect([code, out]).toEqual([0, 'Moved 1 dead letter of webhook to its queue.\n']);
    await until(async () => (await deliveriesTo(gone))[0]?.status === 'delivered');
    const moved = z.strictObject({ type: z.literal('webhook'), moved: z.literal(0) });
    expect(await runJson(moved, 'dead-letters redrive webhook')).toEqual({ type: 'webhook', moved: 0 });
  });

  it('returns messages that came from no queue, which SNS could not deliver, to that of email events', async () => {
    await sendRaw('{}', 'CrashedQueue');
    expect(await ops('dead-letters redrive crashed')).toMatchObject({
      code: 0,
      out: 'Moved 1 crashed message to their queues.\n',
    });
    expect(await runJson(deadLetterLists, 'dead-letters list crashed')).toMatchObject([{ count: 0, letters: [] }]);
  });

  it('purges dead letters with --yes', async () => {
    receiver.isFixed = false;
    await sendExample(gone);
    await until(async () => (await deliveriesTo(gone))[0]?.status === 'failed');
    const { code, out } = await ops('dead-letters purge webhook --yes');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Deleted 1 dead letter of webhook in the local stack/)]);
    expect(await runJson(deadLetterLists, 'dead-letters list webhook')).toMatchObject([{ count: 0, letters: [] }]);
  });

  it('says that a dead letter has been delivered since', async () => {
    receiver.isFixed = false;
    const redelivered = await sendExample(gone);
    const listed = () => found(`webhook --event ${redelivered}`);
    await until(async () => (await listed()).length === 1);
    expect(await listed()).toMatchObject([{ delivery_status: 'failed' }]);
    receiver.isFixed = true;
    await fetch(`${stack.base_url}/notifications/${gone}/redeliver`, {
      method: 'POST',
      headers: { 'x-auth-token': stack.tokens.admin },
      body: JSON.stringify({ event_id: redelivered }),
    });
    await until(async () => (await listed())[0]?.delivery_status === 'delivered');
    expect((await ops('dead-letters list webhook')).out).toMatch(/ delivery .*\n(.*\n)*.* delivered /);
  });

  it('purges one message that cannot be read by its ID', async () => {
    for (const body of ['{not JSON', '{also not']) await sendRaw(body);
    const [unreadable, other] = await until(async () => {
      const letters = await found('alarm-events');
      return letters.length === 2 && letters;
    });
    expect(await found(`alarm-events --message ${unreadable?.producer_message_id}`)).toEqual([unreadable]);
    const purge = `dead-letters purge alarm-events --message ${unreadable?.message_id}`;
    expect((await ops(purge)).err).toMatch(/This would permanently delete 1 dead letter of alarm-events/);
    expect((await ops(`${purge} --yes`)).out).toMatch(/^Deleted 1 dead letter of alarm-events/);
    expect(await found('alarm-events')).toEqual([other]);
  });
});

it('an event ID that is reused is shown with the first event’s delivery to that notification, and with no other', async () => {
  const both = await create('both events', 'email', { address: 'both@example.com' });
  const one = await create('first event', 'email', { address: 'one@example.com' });
  const { out } = await ops(['event', 'example', '--notification', both, one]);
  const first = (await runJson(sent, 'event send -', out)).event_id;
  await until(async () => (await deliveriesTo(one)).some(({ status }) => status === 'delivered'));
  const different = { ...JSON.parse(out), check: { id: 'another' }, notification_plan: { critical_state: [both] } };
  await runJson(sent, 'event send - --force', JSON.stringify(different));
  const conflicting = await until(async () => {
    const found = (await runJson(deliveries, 'deliveries --tenant acme')).filter(
      ({ conflict_at }) => conflict_at !== null,
    );
    return found.length > 0 && found;
  });
  expect(conflicting.map(({ event_id, notification_id }) => [event_id, notification_id])).toEqual([[first, both]]);
});

describe('event check', () => {
  const example = async (...ids: string[]) => (await ops(['event', 'example', '--notification', ...ids])).out;
  const withId = (text: string, changes: object = {}) =>
    JSON.stringify({ ...JSON.parse(text), event_id: event, ...changes });
  it('warns of a pager that gets no OK', async () => {
    const pager = await create('pager', 'incidentpager', { service_key: 'a'.repeat(32) });
    const router = await create('router', 'incidentrouter', { api_key: 'c0ffee00-1234-4abc-8def-123456789abc' });
    const plan = { critical_state: [email, pager, router], ok_state: [router] };
    const input = JSON.stringify({ ...JSON.parse(await example(email)), notification_plan: plan });
    const warning = `Warning: notification_plan lists pagers, routers or ordered webhooks for CRITICAL and not for OK: ${pager}.`;
    expect(await ops('event check -', { input })).toMatchObject({ code: 0, out: expect.stringContaining(warning) });
    expect(await ops('event check - --strict', { input })).toMatchObject({ code: 1 });
  });

  it('names planned notifications that do not exist, which also do not prevent sending', async () => {
    const input = await example(email, 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV');
    const finding = 'These notifications of the plan do not exist and are skipped: nt01ARZ3NDEKTSV4RRFFQ69G5FAV.\n';
    const { code, out } = await ops('event check -', { input });
    expect([code, out]).toEqual([1, expect.stringContaining(finding)]);
    const sendResult = await ops('event send -', { input });
    expect(sendResult).toMatchObject({ code: 0, out: expect.stringMatching(/^Sent as /) });
    expect(sendResult.err).toMatch(/^Target: local stack .*\nThese notifications of the plan do not exist /);
  });

  it('reports an event_id whose event was already delivered, with the time, and send refuses it', async () => {
    const { code, out } = await ops('event check -', { input: sentEvent });
    expect(code).toBe(1);
    expect(out).toMatch(
      /\n {2}These notifications have this event already and do not get it again: .*\(\d{4}-.*Z, (failed|delivered)\), nt.*\.\n/,
    );
    const refused = await ops('event send -', { input: sentEvent });
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toMatch(
      /\nNot sent\. These notifications have this event already .* Change event_id, or pass --force\.\n$/,
    );
  });

  it('reports an event_id of a different event as a conflict', async () => {
    const input = withId(await example(email));
    const { code, out } = await ops('event check -', { input });
    expect([code, out]).toEqual([
      1,
      expect.stringContaining('These notifications have a different event with this event_id'),
    ]);
    const refused = await ops('event send -', { input });
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('pass --force')]);
  });

  it('sends an event again if its plan has a notification that does not have it yet', async () => {
    const added = await create('added', 'email', { address: 'added@example.com' });
    const input = JSON.stringify({ ...JSON.parse(sentEvent), notification_plan: { critical_state: [email, added] } });
    const { code, err } = await ops('event send -', { input });
    expect([code, err]).toEqual([0, expect.stringContaining('These notifications have this event already')]);
    await until(async () => (await deliveriesTo(added))[0]?.status === 'delivered');
  });
});

/* Last, because invalid events cause notices. */
it('dead-letters list says how many there are if the limit hides some, or at least how many', async () => {
  const invalid = { tenant_id: 'many', event_id: 'e' };
  await Promise.all(Array.from({ length: 30 }, () => sendRaw(JSON.stringify(invalid))));
  const title = async (options: string) => (await ops(`dead-letters list alarm-events ${options}`)).out.split('\n')[0];
  await until(async () => (await title('--tenant many'))?.startsWith('alarm-events: 30 dead letters ('));
  expect(await title('--limit 3')).toMatch(/^alarm-events: \d\d dead letters, 3 shown /);
  expect(await title('--limit 3 --tenant many')).toMatch(/^alarm-events: at least \d+ dead letters, 3 shown /);
  expect(await title('--limit 30 --tenant many')).toMatch(/^alarm-events: 30 dead letters \(/);
  expect(await ops('dead-letters purge alarm-events --tenant many --yes')).toMatchObject({ code: 0 });
});
