// In the simulation, alerts in shadow mode have few types.
import { describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { DAY_MS } from '../../shared/domain/day.ts';
import { auditIn } from '../support/audit.ts';
import { newAlarmEvent } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';
import { useFaultyStack } from './support.ts';

const harness = useFaultyStack();

/** Creates a tenant with a technical contact, in shadow mode from now on. */
const newTenant = async () => {
  const client = await harness.newClient();
  const { tenant } = client;
  const contact = `contact-${tenant.toLowerCase()}@example.com`;
  const accounts = createAccountRepository(harness.documents, harness.table('Accounts'));
  await client.put('/account', { technical_contacts: [contact] });
  const from_ms = harness.stack.clock.now();
  const until_ms = from_ms + DAY_MS;
  await accounts.setShadow(tenant, { from_ms, until_ms }, auditIn(harness.table('Audits')));
  const mine = async () =>
    (await harness.inbox()).filter((message) => JSON.stringify(message).toLowerCase().includes(tenant.toLowerCase()));
  return { client, tenant, from_ms, until_ms, mine };
};

describe('a tenant in shadow mode', () => {
  it('has the alerts of every type recorded and not sent', async () => {
    await harness.stayWithinDay();
    const { client, tenant, from_ms, until_ms, mine } = await newTenant();
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
    await harness.drainQueue('Delivery-technicalContactsEmail');
    expect(await mine()).toEqual([]);
    expect((await client.get('/account')).body).toMatchObject({ shadow: { from: from_ms, until: until_ms } });
  });

  it('can test its destinations', async () => {
    const { client } = await newTenant();
    const { body } = await client.post('/test-notification', { type: 'email', details: validDetails.email });
    expect(body).toMatchObject({ status: 'success' });
  });
});
