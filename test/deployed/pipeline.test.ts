import { describe, expect, it } from 'vitest';
import { newClient } from '../end-to-end/support/api.ts';
import { deadLetter, delivery, sendEvents } from '../end-to-end/support/pipeline.ts';
import { newAlarmEvent } from '../support/events.ts';

/** An address that no sender may call, wherever it runs: nobody hears of these tests. */
const FORBIDDEN = 'http://169.254.169.254/latest';

describe('the deployed pipeline', () => {
  it('takes an alarm event through dispatch and sender to its record', async () => {
    const client = await newClient();
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: FORBIDDEN } });
    const event = newAlarmEvent(client.tenant, [id]);
    await sendEvents([event]);
    const record = await delivery(client.tenant, id, 'failed');
    expect(record).toMatchObject({ event_id: event.event_id, attempt_count: 1, attempts: [{ result: 'permanent' }] });
    const dead = await deadLetter('webhook', (body) => body.includes(event.event_id));
    expect(dead.attributes).toMatchObject({ cause: 'destination', attempts: '1' });
  });

  it('runs a test by the sender of the type', async () => {
    const client = await newClient();
    const answer = await client.post('/test-notification', { type: 'webhook', details: { url: FORBIDDEN } });
    expect([answer.status, answer.body]).toEqual([
      200,
      { status: 'failure', message: expect.stringMatching(/^EGRESS_REFUSED /) },
    ]);
  });

  it('tells the operators by the topic, that all is well', async () => {
    const client = await newClient();
    const id = await client.create({ label: 'o', type: 'managed' });
    await sendEvents([newAlarmEvent(client.tenant, [id], { state: 'OK' })]);
    await delivery(client.tenant, id, 'delivered');
  });
});
