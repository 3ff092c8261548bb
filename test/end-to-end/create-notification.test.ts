import { describe, expect, it } from 'vitest';
import { entries } from '../support/notifications.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { newClient } from './support/api.ts';

describe('creating a notification', () => {
  const client = useStarted(() => newClient('creator'));

  /** Repeats the request after 503, which a large write can get: DynamoDB limits the writes to a tenant per second. */
  const postLarge = (body: unknown) =>
    until(async () => {
      const response = await client.post('/notifications', body);
      return response.status !== 503 && response;
    }, 1_000);

  it('stores the largest allowed notification: 256 entries of 4,096 four-byte characters', async () => {
    const notification = {
      label: '😀'.repeat(255),
      type: 'webhook',
      details: { url: 'https://example.com/', ...entries(255, '😀'.repeat(4_096)) },
      metadata: entries(256, 'é'.repeat(255)),
    };
    const id = (await postLarge(notification)).headers.get('location')?.split('/').at(-1);
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...notification });
    const listed = await client.get('/notifications?limit=1000');
    expect(listed.status).toBe(200);
    expect((await client.get(`/notifications?id=${id}`)).body).toMatchObject({ values: [{ id }] });
  });

  it('returns 413 for a notification that would not fit into a response', async () => {
    const details = Object.fromEntries(Array.from({ length: 255 }, (_, index) => [`k${index}`, '"'.repeat(4_096)]));
    const metadata = Object.fromEntries(
      Array.from({ length: 256 }, (_, index) => [`${'"'.repeat(250)}${index}`, '"'.repeat(255)]),
    );
    const large = { label: 'l', type: 'webhook', details: { url: 'https://example.com/', ...details }, metadata };
    // Escaped twice, a quote takes four bytes in a Lambda response: 4.7 MB fit. A control character takes seven: 8.2 MB
    // do not.
    const fits = await postLarge(large);
    expect(fits.status).toBe(201);
    const tooLarge = JSON.stringify(large).replaceAll('\\"', '\u007f').replaceAll('\u007f', '\\u0001');
    const response = await postLarge(tooLarge);
    expect(response.status).toBe(413);
  });
});
