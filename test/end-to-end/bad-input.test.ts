import { beforeAll, describe, expect, it } from 'vitest';
import { type Client, newClient, webhook } from './support/api.ts';

describe('bad bodies', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient();
  });

  const bodies: [name: string, body: string | Uint8Array][] = [
    ['nothing', ''],
    ['no JSON', '{not json'],
    ['a number', '7'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a text', '"text"'],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    ['a lone surrogate', '{"label":"\\ud800","type":"managed"}'],
    ['a NUL character', '{"label":"a\\u0000b","type":"managed"}'],
    ['a NUL in a key', '{"label":"l","type":"managed","metadata":{"a\\u0000":"b"}}'],
    ['a deep nest', `{"label":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['a label of numbers', '{"label":5,"type":"managed"}'],
    ['a prototype for a type', '{"label":"l","type":"__proto__"}'],
    [
      '257 entries',
      JSON.stringify({
        label: 'l',
        type: 'managed',
        metadata: Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`k${i}`, 'v'])),
      }),
    ],
  ];

  it.each(bodies)('answers 400 for %s, and stores nothing', async (_name, body) => {
    const answer = await client.post('/notifications', body);
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body).toMatchObject({ type: 'badRequest', code: 400 });
    expect((await client.get('/notifications')).body).toMatchObject({ metadata: { count: 1 } });
    const update = await client.put('/notifications/ntTechnicalContactsEmail', body);
    expect([400, 403]).toContain(update.status);
  });

  it('answers 413 for a body that is larger than the gateway takes, without hanging', async () => {
    for (const size of [7, 11]) {
      const answer = await client.post(
        '/notifications',
        JSON.stringify({ ...webhook, filler: 'x'.repeat(size * 1024 * 1024) }),
      );
      expect(answer.status).toBe(413);
    }
  });
});
