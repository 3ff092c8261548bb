import { describe, expect, it } from 'vitest';
import { webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { throttled, useFaultyStack } from './support.ts';

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

describe('when a dependency fails, the service', () => {
  it('returns 503 with Retry-After for every operation if DynamoDB throttles or fails, including during authentication', async () => {
    const id = await client.create(webhook);
    const failures = [throttled, { status: 500, type: 'InternalServerError', message: 'secret text' }];
    for (const fault of failures) {
      const recover = harness.injectFault(fault, ({ service }) => service === 'dynamodb');
      const responses = await Promise.all([
        client.get('/notifications'),
        client.get(`/notifications/${id}`),
        client.post('/notifications', webhook),
        client.put(`/notifications/${id}`, { label: 'x' }),
        client.delete(`/notifications/${id}`),
        client.post('/test-notification', { type: 'managed' }),
        client.post(`/notifications/${id}/test`),
        client.get('/notification_types'),
      ]);
      recover();
      for (const { status, headers, body, text } of responses) {
        expect([status, headers.get('retry-after')]).toEqual([503, '2']);
        expect(body).toMatchObject({ type: 'serviceUnavailable', code: 503 });
        expect(text).not.toContain('secret text');
      }
    }
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...webhook });
  });

  it('neither changes nor sends anything if the audit cannot be written', async () => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const before = await client.get(`/notifications/${id}`);
    const audits = await client.get('/audits');
    const recover = harness.injectFault(throttled, ({ body }) => body.includes(harness.table('Audits')));
    const responses = await Promise.all([
      client.put(`/notifications/${id}`, { label: 'x' }),
      client.delete(`/notifications/${id}`),
      client.put('/account', { technical_contacts: ['a@example.com'] }),
      client.post(`/notifications/${id}/test`),
    ]);
    recover();
    expect(responses.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    expect((await client.get(`/notifications/${id}`)).body).toEqual(before.body);
    expect((await client.get('/account')).body).toMatchObject({ technical_contacts: [] });
    expect((await client.get('/audits')).body).toEqual(audits.body);
    expect(sink.received).toEqual([]);
  });

  it('returns 503 for a test if the sender cannot be invoked', async () => {
    const recover = harness.injectFault(
      { status: 500, type: 'ServiceException', message: '' },
      ({ service }) => service === 'lambda',
    );
    const response = await client.post('/test-notification', { type: 'managed' });
    recover();
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
  });

  it('delays an alert without counting an attempt while DynamoDB throttles the sender', async () => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    let refusals = 0;
    const recover = harness.injectFault(
      throttled,
      ({ service, caller }) => service === 'dynamodb' && caller.includes('send-webhook') && ++refusals < 9,
    );
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await harness.advanceUntil(sink.wait(1));
    recover();
    expect(refusals).toBeGreaterThan(3);
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 1,
    });
    expect(sink.received).toHaveLength(1);
  });

  it('neither loses nor repeats deliveries if SQS rejects part of a batch', async () => {
    const sink = await openSink();
    const ids = await Promise.all(
      Array.from({ length: 6 }, () => client.create({ ...webhook, details: { url: sink.url } })),
    );
    let partialFailures = 0;
    harness.interceptOnce(
      'sqs',
      ({ action, caller }) => action === 'SendMessageBatch' && caller.includes('dispatch'),
      async (call, serve) => {
        partialFailures++;
        const { QueueUrl, Entries } = JSON.parse(call.body.toString('utf8'));
        const body = Buffer.from(JSON.stringify({ QueueUrl, Entries: Entries.slice(0, 2) }));
        const response = await serve({ ...call, body });
        const accepted = JSON.parse(response.body.toString());
        const Failed = Entries.slice(2).map(({ Id }: { Id: string }) => ({
          Id,
          Code: 'InternalError',
          SenderFault: false,
        }));
        return { ...response, body: JSON.stringify({ ...accepted, Failed }) };
      },
    );
    await harness.sendEvents([newAlarmEvent(client.tenant, ids)]);
    await harness.advanceUntil(sink.wait(6));
    for (const id of ids)
      expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
        attempt_count: 1,
      });
    expect(partialFailures).toBe(1);
    expect(sink.received).toHaveLength(6);
  });

  const sendsTo = (service: string) => (call: { service: string; action: string }) =>
    call.service === service && /SendEmail|Publish/.test(call.action);
  it('retries an email that SES rejects until operators fix the account', async () => {
    const address = 'paused@example.com';
    const id = await client.create({ label: 'e', type: 'email', details: { address } });
    const recover = harness.injectFault(
      { status: 400, type: 'AccountSendingPausedException', message: 'paused' },
      sendsTo('ses'),
    );
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => harness.lines.find((line) => line.includes(id) && line.includes('sender_misconfigured')));
    recover();
    await harness.advanceUntil(harness.sent(1, (sent) => sent.kind === 'email' && sent.to.includes(address)));
    const { attempt_count } = await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(attempt_count).toBeGreaterThan(1);
  });

  it.each([
    ['ParameterValueInvalid', 'No origination identities available to send', 'sender_misconfigured'],
    ['InternalError', 'oops', 'rejected'],
  ])('retries an SMS that SNS rejects with %s (%s) until operators fix the account', async (type, message, reason) => {
    const id = await client.create({ label: 's', type: 'sms', details: { phone_number: '+12025550112' } });
    const recover = harness.injectFault({ status: 400, type, message }, sendsTo('sns'));
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => harness.lines.find((line) => line.includes(id) && line.includes(reason)));
    recover();
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 2,
    });
  });

  it('delays an email without counting attempts while SES throttles', async () => {
    const address = 'throttled@example.com';
    const id = await client.create({ label: 'e', type: 'email', details: { address } });
    let refusals = 0;
    const recover = harness.injectFault(
      { status: 400, type: 'Throttling', message: 'Maximum sending rate exceeded.' },
      (call) => sendsTo('ses')(call) && ++refusals <= 2,
    );
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await harness.advanceUntil(harness.sent(1, (sent) => sent.kind === 'email' && sent.to.includes(address)));
    recover();
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 1,
    });
  });

  it.each([
    ['email', { address: 'rejected@example.com' }, 'ses', 'MessageRejected', 'Address blacklisted.'],
    ['sms', { phone_number: '+12025550111' }, 'sns', 'OptedOut', 'The number opted out.'],
  ] as const)(
    'dead-letters an alert by %s to %o if %s returns %s (%s)',
    async (type, details, service, code, message) => {
      const id = await client.create({ label: 'd', type, details });
      const recover = harness.injectFault({ status: 400, type: code, message }, sendsTo(service));
      const event = newAlarmEvent(client.tenant, [id]);
      await harness.sendEvents([event]);
      const deadLetter = await harness.deadLetter(type, (body) => body.includes(event.event_id));
      recover();
      expect(deadLetter.attributes).toMatchObject({ reason: 'rejected', cause: 'destination', attempts: '1' });
    },
  );
});
