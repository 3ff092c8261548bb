import { describe, expect, it } from 'vitest';
import { newClient } from '../end-to-end/support/api.ts';
import { deadLetter, delivery, sendEvents } from '../end-to-end/support/pipeline.ts';
import { newAlarmEvent } from '../support/events.ts';

/** An address that every sender blocks, so that the test sends nothing. */
const BLOCKED_URL = 'http://169.254.169.254/latest';

/** Its body is too large, so that the delivery sends nothing. */
const unsentWebhook = {
  label: 'w',
  type: 'webhook',
  details: { url: 'https://hooks.example.com' },
  webhook_request: { body: Array.from({ length: 900 }, () => '{{details}}') },
};

describe('the deployed pipeline', () => {
  it('dispatches an alarm event, attempts its delivery and records it', async () => {
    const client = await newClient();
    const id = await client.create(unsentWebhook);
    const details = { state: 'CRITICAL', status: 'x'.repeat(500) };
    const event = { ...newAlarmEvent(client.tenant, [id]), details };
    await sendEvents([event]);
    const record = await delivery(client.tenant, id, 'failed');
    expect(record).toMatchObject({ event_id: event.event_id, attempt_count: 1, attempts: [{ result: 'permanent' }] });
    const letter = await deadLetter('webhook', (body) => body.includes(event.event_id));
    expect(letter.attributes).toMatchObject({ cause: 'destination', attempts: '1' });
  });

  it('tests a notification with the sender of its type', async () => {
    const client = await newClient();
    const response = await client.post('/test-notification', { type: 'webhook', details: { url: BLOCKED_URL } });
    expect([response.status, response.body]).toEqual([
      200,
      { status: 'failure', message: expect.stringMatching(/is not public$/) },
    ]);
  });

  it('publishes an alert to the SNS topic of the operators', async () => {
    const client = await newClient();
    const id = await client.create({ label: 'o', type: 'managed' });
    await sendEvents([newAlarmEvent(client.tenant, [id], { state: 'OK' })]);
    await delivery(client.tenant, id, 'delivered');
  });
});
