import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emailTags } from '../../shared/domain/email-event.ts';
import { newAlarmEvent } from '../support/events.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack, throttled } from './support.ts';

const RECORDER = 'EmailEvents-record-email-events';

describe('a bounce that SES reports', () => {
  let world: FaultyStack;
  beforeAll(async () => {
    world = await startFaultyStack();
  });
  afterAll(() => world.stack.stop());

  /** Delivers an email, and returns where its delivery is recorded and the event by which SES reports that it bounced. */
  const deliveredEmail = async () => {
    const client = await world.newClient();
    const id = await client.create({ label: 'e', type: 'email', details: { address: 'oncall@example.com' } });
    const event = newAlarmEvent(client.tenant, [id]);
    await world.sendEvents([event]);
    await world.delivery(client.tenant, id, 'delivered');
    const tags = Object.fromEntries(Object.entries(emailTags(event, id)).map(([name, value]) => [name, [value]]));
    const bounce = { source: 'aws.ses', detail: { eventType: 'Bounce', mail: { messageId: 'mail-1', tags } } };
    return { tenant: client.tenant, id, bounce };
  };

  const report = async (bounce: object) => {
    const QueueUrl = world.stack.queues.get('EmailEvents-Queue')?.settings.url;
    await world.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(bounce) }));
  };

  it('is recorded after the table has refused more writes than Lambda would retry an event without a queue', async () => {
    const { tenant, id, bounce } = await deliveredEmail();
    let refused = 0;
    const recover = world.failing(throttled, ({ caller, action }) => {
      const isRefused = caller === `local-${RECORDER}` && action === 'UpdateItem';
      if (isRefused) refused++;
      return isRefused;
    });
    await report(bounce);
    // The SDK sends each request up to three times: these are the requests of at least four invocations.
    await world.hurried(until(async () => (refused > 3 * 3 ? true : undefined)));
    recover();
    await world.hurried(world.delivery(tenant, id, 'bounced'));
  });

  it('is recorded after its function was killed at work', async () => {
    const { tenant, id, bounce } = await deliveredEmail();
    const killed = world.crashOnce({ caller: RECORDER, service: 'dynamodb', action: 'UpdateItem', when: 'before' });
    await report(bounce);
    await killed;
    expect((await world.deliveries(tenant, id)).map(({ status }) => status)).toEqual(['delivered']);
    await world.hurried(world.delivery(tenant, id, 'bounced'));
  });
});
