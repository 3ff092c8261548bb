// In the simulation, no shadow mode lasts for days, and its alerts have few types.
import { describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { DAY_MS } from '../../shared/domain/day.ts';
import { OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { auditIn } from '../support/audit.ts';
import { newAlarmEvent } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';
import { until } from '../support/until.ts';
import { useFaultyStack } from './support.ts';

const HOUR_MS = 3_600_000;

const harness = useFaultyStack();

/** Creates a tenant with a technical contact, in shadow mode from now on. */
const newTenant = async () => {
  const client = await harness.newClient();
  const { tenant } = client;
  const contact = `contact-${tenant.toLowerCase()}@example.com`;
  const accounts = createAccountRepository(harness.documents, harness.table('Accounts'));
  await client.put('/account', { technical_contacts: [contact] });
  const from_ms = harness.stack.clock.now();
  await accounts.setShadow(tenant, { from_ms }, auditIn(harness.table('Audits')));
  const end = () =>
    accounts.setShadow(tenant, { from_ms, until_ms: harness.stack.clock.now() }, auditIn(harness.table('Audits')));
  const mine = async () =>
    (await harness.inbox()).filter((message) => JSON.stringify(message).toLowerCase().includes(tenant.toLowerCase()));
  return { client, tenant, from_ms, end, mine };
};

/** Advances the clock hour by hour until a check succeeds: a delayed message is received several times. */
const advanceHoursUntil = (check: () => Promise<boolean>) =>
  until(async () => {
    if (harness.stack.lambda.busy() === 0) await harness.stack.advance(HOUR_MS);
    return check();
  });

/** Returns whether no message of a tenant waits on the queues to the operators. */
const isSettled = (tenant: string): boolean =>
  ['Delivery-managed', 'Delivery-managed-Retries']
    .flatMap((name) => harness.stack.queues.get(name)?.messages ?? [])
    .every(({ body }) => !body.includes(tenant));

describe('a tenant in shadow mode', () => {
  it('has the alerts of every type recorded and not sent, and reported to the operators once a day', async () => {
    await harness.stayWithinDay();
    const { client, tenant, from_ms, mine } = await newTenant();
    const ids = await Promise.all(
      notificationTypeIds.map((type) => client.create({ label: type, type, details: validDetails[type] })),
    );
    await harness.sendEvents([newAlarmEvent(tenant, ids), newAlarmEvent(tenant, ids)]);
    for (const id of ids) {
      const records = await harness.endedDeliveries(tenant, id, 2);
      expect(records).toEqual(Array(2).fill(expect.objectContaining({ status: 'cancelled', attempt_count: 0 })));
    }
    const { body } = await client.get(`/notifications/${ids[0]}/deliveries`);
    expect(body).toMatchObject({ values: Array(2).fill({ status: 'cancelled', reason: 'shadow', attempts: [] }) });
    await harness.delivery(tenant, OPERATORS_NOTIFICATION_ID, 'delivered');
    await harness.drainQueue('Delivery-technicalContactsEmail');
    expect(await mine()).toEqual([
      expect.objectContaining({ kind: 'managed', subject: expect.stringMatching(/the tenant is in shadow mode$/) }),
    ]);
    expect((await client.get('/account')).body).toMatchObject({ shadow: { from: from_ms, until: null } });
  });

  it('is reported to the operators again every day until it ends, also without alerts', async () => {
    const { client, tenant, end, mine } = await newTenant();
    const id = await client.create({ label: 'w', type: 'email', details: validDetails.email });
    await harness.sendEvents([newAlarmEvent(tenant, [id])]);
    const notices = () => harness.deliveries(tenant, OPERATORS_NOTIFICATION_ID);
    await advanceHoursUntil(async () => (await notices()).filter(({ status }) => status === 'delivered').length === 3);
    const days = (await notices()).map(({ event_id }) => Number(event_id.split(':')[2]) / DAY_MS).toSorted();
    expect(days.map((day) => day - (days[0] ?? 0))).toEqual([0, 1, 2]);
    await end();
    await advanceHoursUntil(async () => isSettled(tenant));
    expect(await mine()).toHaveLength(3);
  });

  it('can test its destinations', async () => {
    const { client } = await newTenant();
    const { body } = await client.post('/test-notification', { type: 'email', details: validDetails.email });
    expect(body).toMatchObject({ status: 'success' });
  });
});
