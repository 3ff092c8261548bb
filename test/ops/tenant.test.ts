import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { localDeployment, outputNames } from '../../bin/ops/deployment.ts';
import { toJson } from '../../bin/ops/print.ts';
import { openSession, type Session } from '../../bin/ops/session.ts';
import { countTenant, type Deletion, deleteTenant } from '../../bin/ops/tenant/deletion.ts';
import { type ExportLine, exportTenant } from '../../bin/ops/tenant/export.ts';
import { type Rotation, rotateSecrets } from '../../bin/ops/tenant/rotation.ts';
import { itemKinds } from '../../bin/ops/tenant/stored-items.ts';
import { readOverviews } from '../../bin/ops/tenants.ts';
import { createAuditReader } from '../../shared/adapters/audits/audit-log.ts';
import { createDestinationListWriter } from '../../shared/adapters/deliveries/destination-list.ts';
import { createFailedMessages } from '../../shared/adapters/deliveries/failed-messages.ts';
import { createSummarizedAlerts } from '../../shared/adapters/deliveries/summarized-alerts.ts';
import { createCounters, dailyCounter } from '../../shared/adapters/dynamodb/counters.ts';
import { readNotificationCount } from '../../shared/adapters/notifications/notification-counter.ts';
import { unexpiredTokens } from '../../shared/api/account-reader.ts';
import { MAX_TIME_MS } from '../../shared/contracts/collection.ts';
import { auditPartition } from '../../shared/domain/audit.ts';
import { deliveryPartition } from '../../shared/domain/delivery-key.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { summarizedAlarm } from '../../shared/domain/summary.ts';
import { type FaultyStack, startFaultyStack } from '../faults/support.ts';
import { bounceBody } from '../support/email-events.ts';
import { alarmHeader } from '../support/events.ts';
import { exercise, settle } from './exercise.ts';
import { loadItems, loadMessages, type StoredData, storedData } from './stored-data.ts';

const TENANT = 'umbra';
/** Their names begin with the tenant's name, or contain it where keys have separators. */
const OTHERS = ['umbra2', 'x#umbra', 'umbra#x'];

const DAY_MS = 86_400_000;
/** More than a double can represent. */
const DIGITS = ['9007199254740993', '0.12345678901234567891', '98765432109876543210', '1234567890.12345678901'];

let world: FaultyStack;
let session: Session;
/** What was stored before the tenant existed. */
let before: StoredData;
let exercised: Awaited<ReturnType<typeof exercise>>;
const closes: (() => void)[] = [];

/** Waits by moving the clock of the stack. */
const timing = {
  aheadMs: 0,
  now: () => Date.now() + timing.aheadMs,
  async sleep(ms: number) {
    timing.aheadMs += ms;
    await world.stack.advance(ms);
  },
};
/** A record of kind `delivery`. */
const listed = z.looseObject({ notification_id: z.string() });

const exportLines = async (tenant: string, withSecrets = false): Promise<ExportLine[]> => {
  const lines: ExportLine[] = [];
  const write = async (line: ExportLine) => void lines.push(line);
  await exportTenant(session, tenant, { withSecrets, nowMs: 0, write });
  return lines;
};

beforeAll(async () => {
  world = await startFaultyStack({ retryDelayScale: '1' });
  const { ready, plan } = world.stack;
  session = openSession(
    localDeployment({
      port: Number(new URL(ready.base_url).port),
      endpoint: ready.aws_endpoint,
      outputs: Object.fromEntries(outputNames.map((name) => [name, plan.output(name)])),
    }),
    true,
  );
  for (const tenant of OTHERS) {
    const other = await exercise(world, tenant);
    closes.push(other.close);
    other.resume();
    await settle(world);
  }
  before = await storedOfTenants();
  exercised = await exercise(world, TENANT);
  closes.push(exercised.close);
  const { NotificationsTable: table } = session.deployment.outputs;
  const chunk = { pk: `chunk#${TENANT}`, sk: `${newNotificationId()}#replaced#000`, content: Buffer.from('replaced') };
  const unreadable = {
    pk: `notification#${TENANT}`,
    sk: newNotificationId(),
    count: NumberValue.from(DIGITS[2] ?? ''),
    share: NumberValue.from(DIGITS[3] ?? ''),
  };
  await loadItems(world, [
    { table, item: chunk },
    { table, item: unreadable },
  ]);
  const notificationId = newNotificationId();
  await createFailedMessages(session.documents, session.deployment.outputs.DeliveriesTable).put({
    recordKey: { pk: deliveryPartition({ tenant: TENANT, id: notificationId }), sk: '1' },
    failedAtMs: Date.now(),
    body: `{"event":{"check":{"id":${DIGITS[0]}}}}`,
    round: 2,
  });
  const summary = { tenant_id: TENANT, event_id: 'summary' };
  const summarized = createSummarizedAlerts(session.documents, session.deployment.outputs.DeliveriesTable);
  await summarized.put(summary, summarizedAlarm(alarmHeader({ tenant_id: TENANT }), Date.now()), Date.now());
  await summarized.addFirst(summary, { deliveryId: 'first', limit: 1 }, Date.now());
  const writeDestinations = createDestinationListWriter(session.documents, session.deployment.outputs.DeliveriesTable);
  await writeDestinations({ tenant_id: TENANT, event_id: 'many' }, [notificationId], Date.now());
  // Messages without a readable `tenant_id`: the report of a bounce, and one that is not JSON.
  const report = bounceBody(alarmHeader({ tenant_id: TENANT }), newNotificationId());
  loadMessages(world, [
    { queue: 'CrashedQueue', body: report, attributes: {} },
    { queue: 'Delivery-AlarmEvents-DeadLetters', body: '{not JSON', group: TENANT, attributes: {} },
    {
      queue: 'Delivery-AlarmEvents-DeadLetters',
      body: `{"tenant_id":"${TENANT}","check":{"value":${DIGITS[1]}}}`,
      group: TENANT,
      attributes: {},
    },
  ]);
});
afterAll(async () => {
  for (const close of closes) close();
  await world.stack.stop();
});

const storedOfTenants = async (): Promise<StoredData> => {
  const { items, messages } = await storedData(world);
  return { items: items.filter(({ item: { pk } }) => pk !== auditPartition(undefined)), messages };
};

const total = ({ items, deadLetters }: Deletion): number =>
  Object.values({ ...items, ...deadLetters }).reduce((sum, count) => sum + count, 0);

it('the overviews of tenants have the notifications, tokens, usage, alerts and stopped mailboxes of each tenant', async () => {
  const overviews = await readOverviews(session, world.stack.clock.now());
  expect(overviews.map(({ tenant }) => tenant)).toEqual(expect.arrayContaining([TENANT, ...OTHERS]));
  const exercisedOverviews = overviews.filter(({ tenant }) => [TENANT, ...OTHERS].includes(tenant));
  for (const { tenant, usage, alerts, stops } of exercisedOverviews) {
    const { NotificationsTable, AccountsTable } = session.deployment.outputs;
    const clock = () => world.stack.clock.now();
    const names = ['email', 'sms', 'managed', 'tests', 'redeliveries'] as const;
    const counterOf = (name: (typeof names)[number]) => dailyCounter(name, tenant, clock());
    const taken = await createCounters(session.documents, AccountsTable).read(names.map(counterOf));
    const used = (name: (typeof names)[number]) => taken(counterOf(name)).used;
    expect(usage).toEqual({
      notifications: await readNotificationCount(session.documents, NotificationsTable, tenant),
      tokens: unexpiredTokens(await session.tokens.list(tenant), clock()).length,
      emails_per_day: used('email'),
      sms_per_day: used('sms'),
      managed_per_day: used('managed'),
      tests_per_day: used('tests'),
      redeliveries_per_day: used('redeliveries'),
    });
    expect(stops).toBe(1);
    expect(alerts).toMatchObject({ delivered: expect.any(Number), failed: expect.any(Number) });
  }
});

describe('exporting a tenant', () => {
  it('writes every kind of data, and of no other tenant', async () => {
    const lines = await exportLines(TENANT);
    expect(new Set(lines.map(({ kind }) => kind))).toEqual(
      new Set([
        'export',
        'notification',
        'unreadable_notification',
        'replaced_notification_content',
        'notification_counter',
        'idempotency_key',
        'account',
        'daily_usage',
        'email_stop',
        'token',
        'delivery',
        'event_id_conflict',
        'incident',
        'failed_alert',
        'destination_list',
        'summarized_alert',
        'failures',
        'outage',
        'audit',
        'dead_letter',
        'end',
      ]),
    );
    const text = JSON.stringify(lines);
    for (const other of OTHERS) expect(text).not.toContain(JSON.stringify(other));
    expect(text).not.toContain(`of ${OTHERS[0]}`);
  });

  it('writes notifications, deliveries, tokens and audit entries as the API returns them', async () => {
    const lines = await exportLines(TENANT);
    const recordsOf = (kind: string) => lines.filter((line) => line.kind === kind).map(({ record }) => record);
    const { tokens, notifications } = exercised.data;
    const get = async (path: string) => (await world.call('GET', path, { token: tokens.admin.token })).body;
    const list = await get('/notifications');
    expect(list).toMatchObject({ values: expect.arrayContaining(recordsOf('notification')) });
    expect(recordsOf('notification')).toHaveLength(Object.keys(notifications).length - 1);
    const { gone, deleted } = notifications;
    for (const id of [gone, deleted]) {
      const history = await get(`/notifications/${id}/deliveries`);
      const values = recordsOf('delivery')
        .map((record) => listed.parse(record))
        .filter(({ notification_id }) => notification_id === id)
        .map(({ notification_id: _, ...delivery }) => delivery);
      expect(values).not.toEqual([]);
      expect(history).toMatchObject({ values: expect.arrayContaining(values) });
    }
    expect(await get('/tokens')).toMatchObject({ values: recordsOf('token') });
    expect(await get('/audits')).toMatchObject({ values: recordsOf('audit') });
  });

  it('writes numbers with all digits that are stored', async () => {
    const text = (await exportLines(TENANT)).map((line) => toJson(line)).join('\n');
    for (const digits of DIGITS) expect(text).toContain(`:${digits}`);
  });

  it('writes secrets only on request', async () => {
    const { token = '', secrets, retired } = await session.accounts.describe(TENANT);
    const confidential = [token, ...secrets, ...retired.map(({ secret }) => secret)];
    expect(confidential).toHaveLength(3);
    const withoutSecrets = JSON.stringify(await exportLines(TENANT));
    for (const secret of confidential) expect(withoutSecrets).not.toContain(secret);
    const withSecrets = JSON.stringify(await exportLines(TENANT, true));
    for (const secret of confidential) expect(withSecrets).toContain(secret);
  });

  it('changes nothing', async () => {
    const stored = await storedData(world);
    await exportLines(TENANT);
    expect(await storedData(world)).toEqual(stored);
  });
});

describe('deleting a tenant', () => {
  it('only counts in a dry run, every kind of item and dead letter', async () => {
    const stored = await storedData(world);
    const counted = await countTenant(session, TENANT);
    expect(Object.keys(counted.items).toSorted()).toEqual([...itemKinds].toSorted());
    expect(counted.deadLetters).toMatchObject({ webhook: expect.any(Number), 'alarm-events': 3, crashed: 2 });
    expect(await storedData(world)).toEqual(stored);
  });

  it('continues after an interruption, and again when alerts in flight have ended, until nothing is left', async () => {
    let deletes = 0;
    const denied = { status: 400, type: 'AccessDeniedException', message: 'Interrupted.' };
    const removeFault = world.injectFault(denied, ({ action }) => action === 'DeleteItem' && ++deletes > 40);
    await expect(deleteTenant(session, TENANT, timing)).rejects.toThrow('Interrupted.');
    removeFault();
    const { token } = exercised.data.tokens.admin;
    expect((await world.call('GET', '/account', { token })).status).toBe(401);

    expect(total(await deleteTenant(session, TENANT, timing))).toBeGreaterThan(0);
    exercised.resume();
    await settle(world);
    await timing.sleep(DAY_MS);
    expect(total(await deleteTenant(session, TENANT, timing))).toBeGreaterThan(0);
    expect(total(await deleteTenant(session, TENANT, timing))).toBe(0);
    expect(await storedOfTenants()).toEqual(before);
    for (const { counts } of world.stack.queues.values()) expect(counts).toMatchObject({ inFlight: 0, delayed: 0 });
  });

  it('leaves its entry in the audit of the stack', async () => {
    const entries = createAuditReader(session.documents, session.deployment.outputs.AuditsTable).list(undefined, {
      fromMs: 0,
      toMs: MAX_TIME_MS,
      isReverse: true,
      start: null,
      pageSize: 1,
    });
    expect((await entries.next()).value).toMatchObject({
      action: 'delete-tenant',
      target_id: TENANT,
      actor: { type: 'operator', principal: 'arn:aws:iam::000000000000:user/local-operator' },
    });
  });

  it('ends although a token issues others in a loop', async () => {
    const { token } = await world.newClient('admin', TENANT);
    const issue = () => world.call('POST', '/tokens', { token, body: { label: 'l', role: 'admin' } });
    expect((await issue()).status).toBe(201);
    const statuses: number[] = [];
    const sleep = async (ms: number) => {
      statuses.push((await issue()).status);
      await timing.sleep(ms);
    };
    await deleteTenant(session, TENANT, { now: timing.now, sleep });
    expect(statuses).toEqual([401]);
    expect((await world.call('GET', '/account', { token })).status).toBe(401);
    expect(await storedOfTenants()).toEqual(before);
  });

  it('fails instead of leaving an item whose key it does not know', async () => {
    const table = session.deployment.outputs.DeliveriesTable;
    await loadItems(world, [{ table, item: { pk: `future#${TENANT}`, sk: '1' } }]);
    await expect(deleteTenant(session, TENANT, timing)).rejects.toThrow(
      /contains a key of an unknown format, "future"/,
    );
  });
});

describe('a rotation of all secrets', () => {
  const noRotation = (): Rotation => ({ revoked: [], suspects: [], receivers: [] });
  const account = z.object({ webhook_token: z.string(), webhook_signing_secrets: z.array(z.string()) });
  const own = z.object({ secret: z.string() });

  it('replaces them after no request can read them with a leaked token, and says what each receiver must accept', async () => {
    const { token, create, tenant } = await world.newClient();
    const webhook = { type: 'webhook', details: { url: 'https://example.com' } };
    const [plain, withOwn] = [await create({ label: 'a', ...webhook }), await create({ label: 'b', ...webhook })];
    await create({ label: 'c', type: 'email', details: { address: 'jo@example.com' } });
    const old = account.parse((await world.call('GET', '/account', { token })).body);
    const path = `/notifications/${withOwn}/signing-secret`;
    const { secret } = own.parse((await world.call('POST', path, { token })).body);

    const beforeWait: unknown[] = [];
    const sleep = async (ms: number) => {
      beforeWait.push((await world.call('GET', '/account', { token })).status, await session.accounts.describe(tenant));
      await timing.sleep(ms);
    };
    const rotated = await rotateSecrets(session, tenant, noRotation(), undefined, { now: timing.now, sleep });

    // The function caches the token for a minute.
    expect(beforeWait).toEqual([200, expect.objectContaining({ token: old.webhook_token })]);
    expect((await world.call('GET', '/account', { token })).status).toBe(401);
    expect(rotated.receivers).toEqual([
      { notification_id: plain, notification_label: 'a', uses_account: true, secret: null },
      { notification_id: withOwn, notification_label: 'b', uses_account: true, secret: expect.any(String) },
    ]);
    const { token: next } = await world.newClient('admin', tenant);
    const { webhook_token, webhook_signing_secrets } = account.parse(
      (await world.call('GET', '/account', { token: next })).body,
    );
    expect([webhook_token, webhook_signing_secrets[0]]).toEqual([rotated.webhookToken, rotated.signingSecret]);
    const values = [secret, old.webhook_token, ...old.webhook_signing_secrets];
    expect(values).not.toContain(rotated.receivers[1]?.secret);
    expect(values).not.toContain(rotated.signingSecret);
    expect(webhook_token).not.toBe(old.webhook_token);
  });

  it('replaces nothing that a tenant does not have', async () => {
    expect(await rotateSecrets(session, 'nobody', noRotation(), undefined, timing)).toEqual(noRotation());
  });

  it('replaces nothing while a notification exists that a token created or sent elsewhere, unless it may stay', async () => {
    const { token, create, put, delete: remove, tenant } = await world.newClient();
    const webhook = { type: 'webhook', details: { url: 'https://example.com' } };
    const [moved, renamed] = [await create({ label: 'a', ...webhook }), await create({ label: 'b', ...webhook })];
    await world.call('GET', '/account', { token });
    const before = await session.accounts.describe(tenant);
    await timing.sleep(10);
    const sinceMs = world.stack.clock.now();
    const created = await create({ label: 'c', ...webhook });
    const deleted = await create({ label: 'd', ...webhook });
    await put(`/notifications/${moved}`, { details: { url: 'https://thief.example' } });
    await put(`/notifications/${renamed}`, { label: 'other' });
    await remove(`/notifications/${deleted}`);

    const rotate = (kept: string[] | 'all') => rotateSecrets(session, tenant, noRotation(), { sinceMs, kept }, timing);
    const refused = await rotate([created]);
    expect(refused.suspects).toMatchObject([
      {
        notification_id: moved,
        notification_label: 'a',
        changed: ['details'],
        actor: expect.stringMatching(/\(tk\w+\)$/),
      },
    ]);
    expect(refused.revoked.length).toBeGreaterThan(0);
    expect((await rotate([moved])).suspects).toMatchObject([{ notification_id: created, changed: ['created'] }]);
    expect(await session.accounts.describe(tenant)).toEqual(before);
    expect((await rotate([moved, created])).webhookToken).toEqual(expect.any(String));
    expect((await rotate('all')).webhookToken).toEqual(expect.any(String));
  });
});
