import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { emailTags } from '../../shared/domain/email-event.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { newAlarmEvent } from '../support/events.ts';
import { until } from '../support/until.ts';
import { throttled, useFaultyStack } from './support.ts';

const RECORDER = 'EmailEvents-record-email-events';

const harness = useFaultyStack();

describe('a bounce reported by SES', () => {
  const bounceOf = (event: AlarmEvent, id: string, address: string) => {
    const tags = Object.fromEntries(Object.entries(emailTags(event, id)).map(([name, value]) => [name, [value]]));
    const mail = { messageId: 'email-1', destination: [address], tags };
    return { source: 'aws.ses', detail: { eventType: 'Bounce', mail } };
  };

  /** Delivers an email. @returns the tenant and the notification of its delivery, and the bounce event of SES */
  const deliveredEmail = async () => {
    const client = await harness.newClient();
    const address = 'oncall@example.com';
    const id = await client.create({ label: 'e', type: 'email', details: { address } });
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.delivery(client.tenant, id, 'delivered');
    return { tenant: client.tenant, id, bounce: bounceOf(event, id, address) };
  };

  const sendBounce = async (bounce: object) => {
    const QueueUrl = harness.stack.queues.get('EmailEvents-Queue')?.settings.url;
    await harness.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(bounce) }));
  };

  it('is recorded after DynamoDB throttled more invocations than Lambda retries for asynchronous events', async () => {
    const { tenant, id, bounce } = await deliveredEmail();
    let throttledCount = 0;
    const recover = harness.injectFault(throttled, ({ caller, action }) => {
      const isThrottled = caller === `local-${RECORDER}` && action === 'UpdateItem';
      if (isThrottled) throttledCount++;
      return isThrottled;
    });
    await sendBounce(bounce);
    // The SDK sends each request up to three times, so these are at least four invocations.
    await harness.advanceUntil(until(async () => (throttledCount > 3 * 3 ? true : undefined)));
    recover();
    await harness.advanceUntil(harness.delivery(tenant, id, 'bounced'));
  });

  it('is escalated if the email was the only delivery of the alert', async () => {
    const { tenant, bounce } = await deliveredEmail();
    await sendBounce(bounce);
    const escalation = until(async () =>
      (await harness.inbox()).find(
        (message) => message.kind === 'managed' && message.text.includes(`Tenant: ${tenant}`),
      ),
    );
    expect(await harness.advanceUntil(escalation)).toMatchObject({
      subject: expect.stringContaining('its only destination could not be reached'),
    });
  });

  it('of one contact is remembered while the email to another is retried, and escalated if that bounces too', async () => {
    const { tenant } = await harness.newClient();
    const [first, second] = [`first-${tenant}@example.com`, `second-${tenant}@example.com`.toLowerCase()];
    const accounts = createAccountRepository(harness.documents, harness.table('Accounts'));
    await accounts.update(tenant, { technical_contacts: [first, second] });
    const acceptSecond = harness.injectFault(
      { status: 500, type: 'InternalFailure', message: '' },
      ({ service, body }) => service === 'ses' && body.includes(encodeURIComponent(second)),
    );
    const event = newAlarmEvent(tenant, [DEFAULT_NOTIFICATION_ID]);
    const records = () => harness.deliveries(tenant, DEFAULT_NOTIFICATION_ID);
    await harness.sendEvents([event]);
    await until(async () => (await records()).find(({ attempt_count }) => attempt_count > 0));
    await sendBounce(bounceOf(event, DEFAULT_NOTIFICATION_ID, first));
    await until(async () => (await records()).find((record) => 'bounced_recipient_hashes' in record));
    acceptSecond();
    await harness.advanceUntil(harness.delivery(tenant, DEFAULT_NOTIFICATION_ID, 'delivered'));
    await sendBounce(bounceOf(event, DEFAULT_NOTIFICATION_ID, second));
    await harness.advanceUntil(harness.delivery(tenant, DEFAULT_NOTIFICATION_ID, 'bounced'));
    const escalation = until(async () =>
      (await harness.inbox()).find(
        (message) => message.kind === 'managed' && message.text.includes(`Tenant: ${tenant}`),
      ),
    );
    expect(await harness.advanceUntil(escalation)).toMatchObject({
      subject: expect.stringContaining('its only destination could not be reached'),
    });
  });

  it('is recorded after its function crashed', async () => {
    const { tenant, id, bounce } = await deliveredEmail();
    const crash = harness.crashOnce({ caller: RECORDER, service: 'dynamodb', action: 'UpdateItem', when: 'before' });
    await sendBounce(bounce);
    await crash;
    expect((await harness.deliveries(tenant, id)).map(({ status }) => status)).toEqual(['delivered']);
    await harness.advanceUntil(harness.delivery(tenant, id, 'bounced'));
  });
});
