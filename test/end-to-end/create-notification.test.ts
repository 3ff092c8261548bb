import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { destinationsAt, entries, validDetails } from '../support/notifications.ts';
import { until } from '../support/until.ts';
import { type Client, newClient, webhook } from './support/api.ts';

/** A destination of each type with its optional fields. */
const destinations: Record<NotificationTypeId, object> = {
  ...destinationsAt('https://destinations.example.com'),
  incidentrouter: { ...validDetails.incidentrouter, routing_key: 'team_a.b-c' },
};

describe('creating a notification', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient('creator');
  });

  /** Repeats the request after 503, which a large write can get: DynamoDB limits the writes to a tenant per second. */
  const postLarge = (body: unknown) =>
    until(async () => {
      const response = await client.post('/notifications', body);
      return response.status !== 503 && response;
    }, 1_000);

  it('returns 201 with an empty body and the Location of the notification', async () => {
    const response = await client.post('/notifications', webhook);
    expect(response.status).toBe(201);
    expect(response.text).toBe('');
    const location = response.headers.get('location') ?? '';
    expect(location).toMatch(new RegExp(`^${inject('stack').base_url}/notifications/nt[0-9A-Z]{26}$`));
    const read = await client.get(location);
    expect(read.body).toEqual({ id: location.split('/').at(-1), ...webhook });
  });

  it.each(notificationTypeIds)('stores a notification of type %s unchanged', async (type) => {
    const notification = { label: `A ${type}`, type, details: destinations[type], metadata: { team: 'ops' } };
    const id = await client.create(notification);
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...notification });
  });

  it('keeps additional details and metadata, including keys such as __proto__', async () => {
    const details = '{"url":"https://example.com/","__proto__":"a","constructor":"b","toString":"c","own":"d"}';
    const metadata = '{"__proto__":"x","hasOwnProperty":"y"}';
    const { headers } = await client.post(
      '/notifications',
      `{"label":"l","type":"webhook","details":${details},"metadata":${metadata}}`,
    );
    const { text } = await client.get(headers.get('location') ?? '');
    expect(text).toContain(`"details":${details}`);
    expect(text).toContain(`"metadata":${metadata}`);
  });

  it('ignores unknown keys, and treats null as absent', async () => {
    const id = await client.create({
      ...webhook,
      id: 'mine',
      owner: 'me',
      reason: null,
      metadata: null,
      tenant: 'other',
    });
    expect(id).not.toBe('mine');
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...webhook });
  });

  it('accepts a body with any content type or none', async () => {
    const { call } = await import('./support/api.ts');
    for (const type of ['text/plain', 'application/json; charset=utf-8', 'application/octet-stream', '']) {
      const response = await call('POST', '/notifications', {
        token: client.token,
        body: new TextEncoder().encode(JSON.stringify({ ...webhook, label: 'Größe 😀' })),
        headers: type === '' ? {} : { 'content-type': type },
      });
      expect(response.status).toBe(201);
      expect((await client.get(response.headers.get('location') ?? '')).body).toMatchObject({ label: 'Größe 😀' });
    }
  });

  it('accepts a type without fields without details', async () => {
    const id = await client.create({ label: 'Ops', type: 'managed' });
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, label: 'Ops', type: 'managed', details: {} });
  });

  it('returns 400 with every invalid field and its rule', async () => {
    const response = await client.post('/notifications', {
      label: '',
      type: 'webhook',
      details: { url: 'ftp://example.com', empty: '' },
      metadata: { number: 7 },
    });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.body).toEqual({
      type: 'badRequest',
      code: 400,
      message: 'The request holds an invalid value.',
      details: expect.any(String),
      request_id: expect.any(String),
    });
    for (const field of [
      'label: ',
      'details.url: must be an HTTP or HTTPS URL',
      'details.empty: ',
      'metadata.number: must be a string',
    ]) {
      expect(response.text).toContain(field);
    }
  });

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
