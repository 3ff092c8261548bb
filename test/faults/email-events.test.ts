import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { emailTags } from '../../shared/domain/email-event.ts';
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

  it('is recorded after its function crashed', async () => {
    const { tenant, id, bounce } = await deliveredEmail();
    const crash = harness.crashOnce({ caller: RECORDER, service: 'dynamodb', action: 'UpdateItem', when: 'before' });
    await sendBounce(bounce);
    await crash;
    expect((await harness.deliveries(tenant, id)).map(({ status }) => status)).toEqual(['delivered']);
    await harness.advanceUntil(harness.delivery(tenant, id, 'bounced'));
  });
});
