// The simulation checks alerts while a dependency fails, not the responses of each operation.
import { describe, expect, it } from 'vitest';
import { webhook } from '../support/api.ts';
import { openSink } from '../support/test-sink.ts';
import { useStarted } from '../support/use-started.ts';
import { throttled, useFaultyStack } from './support.ts';

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

describe('when a dependency fails, the API', () => {
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
});
