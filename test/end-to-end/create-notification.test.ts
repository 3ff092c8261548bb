import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { destinationsAt, entries, goodDetails } from '../support/notifications.ts';
import { type Client, newClient, webhook } from './support/api.ts';

/** A destination of each type with its optional fields. */
const destinations: Record<NotificationTypeId, object> = {
  ...destinationsAt('https://destinations.example.com'),
  incidentrouter: { ...goodDetails.incidentrouter, routing_key: 'team_a.b-c' },
};

describe('creating a notification', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient('creator');
  });

  it('answers 201 without a body, and the Location of what it made', async () => {
    const answer = await client.post('/notifications', webhook);
    expect(answer.status).toBe(201);
    expect(answer.text).toBe('');
    const location = answer.headers.get('location') ?? '';
    expect(location).toMatch(new RegExp(`^${inject('stack').base_url}/notifications/nt[0-9A-Z]{26}$`));
    const read = await client.get(location);
    expect(read.body).toEqual({ id: location.split('/').at(-1), ...webhook });
  });

  it.each(notificationTypeIds)('takes a notification of type %s and gives it back as it was', async (type) => {
    const notification = { label: `A ${type}`, type, details: destinations[type], metadata: { team: 'ops' } };
    const id = await client.create(notification);
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...notification });
  });

  it('keeps what a client adds to details, keys such as __proto__ included', async () => {
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

  it('ignores keys that it does not know, and takes null for absent', async () => {
    const id = await client.create({ ...webhook, id: 'mine', who: 'me', why: null, metadata: null, tenant: 'other' });
    expect(id).not.toBe('mine');
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...webhook });
  });

  it('takes a body without a content type, or with a charset', async () => {
    const { call } = await import('./support/api.ts');
    for (const type of ['text/plain', 'application/json; charset=utf-8', 'application/octet-stream', '']) {
      const answer = await call('POST', '/notifications', {
        token: client.token,
        body: new TextEncoder().encode(JSON.stringify({ ...webhook, label: 'Größe 😀' })),
        headers: type === '' ? {} : { 'content-type': type },
      });
      expect(answer.status).toBe(201);
      expect((await client.get(answer.headers.get('location') ?? '')).body).toMatchObject({ label: 'Größe 😀' });
    }
  });

  it('takes a type without fields with no details at all', async () => {
    const id = await client.create({ label: 'Ops', type: 'managed' });
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, label: 'Ops', type: 'managed', details: {} });
  });

  it('names every field that is wrong, with its rule', async () => {
    const answer = await client.post('/notifications', {
      label: '',
      type: 'webhook',
      details: { url: 'ftp://example.com', empty: '' },
      metadata: { number: 7 },
    });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.body).toEqual({
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
      expect(answer.text).toContain(field);
    }
  });

  it('keeps the largest notification that the limits allow: 256 entries of 4096 characters of four bytes', async () => {
    const entries = (amount: number, name: string, value: string) =>
      Object.fromEntries(Array.from({ length: amount }, (_, index) => [`${name}${index}`, value]));
    const notification = {
      label: '😀'.repeat(255),
      type: 'webhook',
      details: { url: 'https://example.com/', ...entries(255, 'key', '😀'.repeat(4_096)) },
      metadata: entries(256, 'm', 'é'.repeat(255)),
    };
    const id = await client.create(notification);
    expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...notification });
    const listed = await client.get('/notifications?limit=1000');
    expect(listed.status).toBe(200);
    expect((await client.get(`/notifications?id=${id}`)).body).toMatchObject({ values: [{ id }] });
  });

  it('refuses with 413 what could never be read in one answer', async () => {
    const details = Object.fromEntries(Array.from({ length: 255 }, (_, index) => [`k${index}`, '"'.repeat(4_096)]));
    const metadata = Object.fromEntries(
      Array.from({ length: 256 }, (_, index) => [`${'"'.repeat(250)}${index}`, '"'.repeat(255)]),
    );
    const tooLarge = { label: 'l', type: 'webhook', details: { url: 'https://example.com/', ...details }, metadata };
    // Each quote takes four bytes inside an answer: these are 4.7 MB, which fit, and with control characters they do not.
    const fits = await client.post('/notifications', tooLarge);
    expect(fits.status).toBe(201);
    const bursting = JSON.stringify(tooLarge).replaceAll('\\"', '\u007f').replaceAll('\u007f', '\\u0001');
    const answer = await client.post('/notifications', bursting);
    expect([413]).toContain(answer.status);
  });
});
