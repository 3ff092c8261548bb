// The simulation has no limits of tests, and counts no requests.
import { describe, expect, it } from 'vitest';
import { createAccountAdministration } from '../../shared/adapters/accounts/account-administration.ts';
import { createTestCounter } from '../../shared/adapters/accounts/test-counter.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { webhook } from '../support/api.ts';
import { auditIn } from '../support/audit.ts';
import { newAlarmEvent } from '../support/events.ts';
import { throttled, useFaultyStack } from './support.ts';

describe('limits against abuse', () => {
  const harness = useFaultyStack({
    testsPerTenantPerDay: '3',
    emailsPerTenantPerDay: '2',
  });

  it('return 429 after the daily number of tests until the next UTC day, and do not count invalid requests', async () => {
    await harness.stayWithinDay();
    const tester = await harness.newClient();
    const id = await tester.create({ label: 'm', type: 'managed' });
    expect((await tester.post('/test-notification', { type: 'webhook' })).status).toBe(400);
    expect((await tester.post('/notifications/nt01ARZ3NDEKTSV4RRFFQ69G5FAV/test')).status).toBe(404);
    for (let count = 0; count < 3; count++) expect((await tester.post(`/notifications/${id}/test`)).status).toBe(200);
    const limited = await tester.post('/test-notification', { type: 'managed' });
    expect(limited.body).toMatchObject({
      type: 'rateLimitReached',
      code: 429,
      details: 'at most 3 tests in a day (UTC)',
    });
    const retryAfterSeconds = Number(limited.headers.get('retry-after'));
    expect(retryAfterSeconds).toBeGreaterThan(0);
    expect(retryAfterSeconds).toBeLessThanOrEqual(86_400);
    expect((await (await harness.newClient()).post('/test-notification', { type: 'managed' })).status).toBe(200);
    await harness.stack.advance(86_400_000);
    expect((await tester.post(`/notifications/${id}/test`)).status).toBe(200);
  });

  it('return 503 while a tenant runs 20 tests, which end also if they fail', async () => {
    await harness.stayWithinDay();
    const tester = await harness.newClient();
    const accounts = createAccountAdministration(harness.documents, harness.table('Accounts'));
    await accounts.changeLimits(tester.tenant, { testsPerTenantPerDay: 100 }, auditIn(harness.table('Audits')));
    const tests = createTestCounter(harness.documents, harness.table('Accounts'), () => harness.stack.clock.now());
    const start = () => tests.start(tester.tenant, 100);
    await Promise.all(Array.from({ length: 19 }, start));
    const recover = harness.stack.lambda.throttle('Delivery-send-managed');
    expect((await tester.post('/test-notification', { type: 'managed' })).body).toMatchObject({ code: 503 });
    recover();
    expect(await start()).toMatchObject({ kind: 'started' });
    const refused = await tester.post('/test-notification', { type: 'managed' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(refused.body).toMatchObject({ details: 'at most 20 tests at a time in an account' });
  });
});

describe('the cost of a delivery', () => {
  const harness = useFaultyStack();

  it.each([
    ['email', { address: 'plain@example.com' }, 'ses SendRawEmail', []],
    ['sms', { phone_number: '+12025550179' }, 'sns Publish', []],
    ['technicalContactsEmail', {}, 'ses SendRawEmail', ['dynamodb GetItem']],
  ] as const)(
    'is these requests of the sender for an alert by %s, without summaries and below the limits',
    async (type, details, send, contactReads) => {
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
      // The claim, the daily limit, and the result.
      const writes = ['dynamodb PutItem', 'dynamodb UpdateItem', 'dynamodb UpdateItem'];
      // The stop of the mailbox.
      const stops = type === 'sms' ? [] : ['dynamodb GetItem'];
      const others = [...writes, ...target, ...contactReads, ...stops, send];
      // The account is read once a minute.
      for (const account of [['dynamodb GetItem'], []]) {
        requests.length = 0;
        await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
        await harness.endedDeliveries(client.tenant, id, account.length === 0 ? 2 : 1);
        // Another execution environment may have received the second alert, which reads the account first.
        const expected = [account, ['dynamodb GetItem']].map((reads) => [...reads, ...others].toSorted());
        expect(expected).toContainEqual(requests.toSorted());
      }
      end();
    },
  );

  it('is at most 0.4 AWS calls by dispatch per delivery for ten events with one webhook each', async () => {
    const client = await harness.newClient();
    const id = await client.create(webhook);
    const callCount = () =>
      [...harness.stack.endpoint.calls]
        .filter(([name]) => name.includes('dispatch'))
        .reduce((sum, [, count]) => sum + count, 0);
    const before = callCount();
    const Records = Array.from({ length: 10 }, (_, index) => ({
      messageId: `m${index}`,
      body: JSON.stringify(newAlarmEvent(client.tenant, [id])),
      attributes: { ApproximateReceiveCount: '1' },
      messageAttributes: {},
    }));
    const { payload } = await harness.stack.lambda.invoke(
      'Delivery-dispatch-alarm-events',
      JSON.stringify({ Records }),
    );
    expect(JSON.parse(payload)).toEqual({ batchItemFailures: [] });
    expect(callCount() - before).toBeGreaterThan(0);
    expect((callCount() - before) / 10).toBeLessThanOrEqual(0.4);
  });
});
