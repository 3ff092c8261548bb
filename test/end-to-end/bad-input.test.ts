import { beforeAll, describe, expect, it } from 'vitest';
import { entries } from '../support/notifications.ts';
import { type Client, newClient, webhook } from './support/api.ts';

describe('an invalid request body', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient();
  });

  type Body = [name: string, body: string | Uint8Array];
  const malformed: Body[] = [
    ['no content', ''],
    ['malformed JSON', '{not json'],
    ['a number', '7'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"text"'],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
  ];
  const invalid: Body[] = [
    ['a lone surrogate', '{"label":"\\ud800","type":"managed"}'],
    ['a NUL character', '{"label":"a\\u0000b","type":"managed"}'],
    ['a NUL in a key', '{"label":"l","type":"managed","metadata":{"a\\u0000":"b"}}'],
    ['deeply nested arrays', `{"label":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['a numeric label', '{"label":5,"type":"managed"}'],
    ['the type __proto__', '{"label":"l","type":"__proto__"}'],
    ['257 metadata entries', JSON.stringify({ label: 'l', type: 'managed', metadata: entries(257, 'v') })],
  ];

  it.each([...malformed, ...invalid])(
    'is rejected with 400 when creating a notification from %s, and stores nothing',
    async (_name, body) => {
      const response = await client.post('/notifications', body);
      expect(response.status, response.text).toBe(400);
      expect(response.body).toMatchObject({ type: 'badRequest', code: 400 });
      expect((await client.get('/notifications')).body).toMatchObject({ metadata: { count: 1 } });
    },
  );

  const defaultNotification = '/notifications/ntTechnicalContactsEmail';

  it.each(malformed)('is rejected with 400 when updating the default notification with %s', async (_name, body) => {
    expect((await client.put(defaultNotification, body)).status).toBe(400);
  });

  it.each(invalid)('is rejected with 403 when updating the default notification with %s', async (_name, body) => {
    expect((await client.put(defaultNotification, body)).status).toBe(403);
  });

  it('is rejected with 413 above the size limit of the gateway', async () => {
    for (const size of [7, 11]) {
      const response = await client.post(
        '/notifications',
        JSON.stringify({ ...webhook, filler: 'x'.repeat(size * 1024 * 1024) }),
      );
      expect(response.status).toBe(413);
    }
  });
});
