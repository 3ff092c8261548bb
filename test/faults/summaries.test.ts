// In the simulation, nobody changes the type of a notification, and no rule is about notices of limits and summaries that
// bounce.
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { bounceBody } from '../support/email-events.ts';
import { newAlarmEvent } from '../support/events.ts';
import type { InboxMessage } from '../support/pipeline.ts';
import { until } from '../support/until.ts';
import { useFaultyStack } from './support.ts';

const MINUTE_MS = 60_000;

describe('a summary', () => {
  const harness = useFaultyStack();

  /**
   * Sends so many alerts to a new tenant's email notification in a minute that all but the first two are summarized.
   */
  const summarizedAlerts = async (summarizedCount: number) => {
    const client = await harness.newClient();
    const { tenant } = client;
    await client.put('/account', { summaries: { email_after: 2, sms_after: 1, window_minutes: 1 } });
    const address = `${tenant.toLowerCase()}@example.com`;
    const id = await client.create({ label: 'n', type: 'email', details: { address } });
    // A window does not end between two alerts.
    await harness.stack.advance(MINUTE_MS - (harness.stack.clock.now() % MINUTE_MS) + 100);
    const count = summarizedCount + 2;
    await harness.sendEvents(
      Array.from({ length: count }, (_, index) => newAlarmEvent(tenant, [id], { alarm: `al${index}-x` })),
    );
    await harness.endedDeliveries(tenant, id, count);
    return { client, tenant, id, address };
  };

  const summaryRecord = (tenant: string, id: string, status: string) =>
    harness.advanceUntil(
      until(async () =>
        (await harness.deliveries(tenant, id)).find(
          (record) => record.event_id.endsWith(':summary') && record.status === status,
        ),
      ),
    );

  const escalations = (tenant: string): Promise<InboxMessage[]> =>
    harness.advanceUntil(harness.sent(1, (message) => message.kind === 'managed' && message.text.includes(tenant)));

  it('is escalated if its notification gets a type without summaries', async () => {
    const { client, tenant, id } = await summarizedAlerts(1);
    await client.put(`/notifications/${id}`, { type: 'managed', details: {} });
    await summaryRecord(tenant, id, 'failed');
    expect(JSON.stringify(await escalations(tenant))).toContain(
      `CRITICAL on ${id}: a summary of 1 alarm could not be delivered`,
    );
  });

  it('is escalated if it bounces', async () => {
    const { tenant, id, address } = await summarizedAlerts(2);
    const { event_id } = await summaryRecord(tenant, id, 'delivered');
    await harness.sqs.send(
      new SendMessageCommand({
        QueueUrl: harness.stack.queues.get('EmailEvents-Queue')?.settings.url,
        MessageBody: bounceBody({ tenant_id: tenant, event_id }, id, { destination: [address] }),
      }),
    );
    await summaryRecord(tenant, id, 'bounced');
    expect(JSON.stringify(await escalations(tenant))).toContain('a summary of 2 alarms could not be delivered');
  });
});

describe('a daily limit that is reached', () => {
  const harness = useFaultyStack({ smsPerTenantPerDay: '1' });

  it('is told to the technical contacts', async () => {
    await harness.stayWithinDay();
    const client = await harness.newClient();
    const contact = `contact-${client.tenant.toLowerCase()}@example.com`;
    await client.put('/account', { technical_contacts: [contact] });
    const id = await client.create({ label: 'l', type: 'sms', details: { phone_number: '+12025550177' } });
    await harness.sendEvents(Array.from({ length: 4 }, () => newAlarmEvent(client.tenant, [id])));
    const [notice] = await harness.sent(1, (message) => message.kind === 'email' && message.to.includes(contact));
    expect(JSON.stringify(notice)).toContain('sms_per_day');
  });
});
