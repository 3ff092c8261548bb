import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sentRequest } from '../../../shared/pipeline/transports/webhook.ts';

const sent = (changes: Partial<Parameters<typeof sentRequest>[0]> = {}) =>
  sentRequest({ url: new URL('https://chat.example.com/a'), headers: {}, body: '{}', ...changes });

describe('what a test shows of its request', () => {
  it('is method, URL without user, password, query and fragment, names of headers, and body', () => {
    const url = new URL('https://me:password@chat.example.com:8443/hooks/7?key=abcdefgh#part');
    expect(sent({ url, headers: { 'x-key': 'secret' }, body: '{"a":1.0}' })).toEqual({
      method: 'POST',
      url: 'https://chat.example.com:8443/hooks/7',
      headers: ['x-key', 'authorization'],
      body: '{"a":1.0}',
    });
    expect(sent({ url, headers: { Authorization: 'b' } }).headers).toEqual(['Authorization']);
  });

  it('is the first 4 KB of the body, in whole characters', () => {
    expect(sent({ body: 'a'.repeat(4_097) }).body).toBe('a'.repeat(4_096));
    expect(sent({ body: `a${'😀'.repeat(2_000)}` }).body).toBe(`a${'😀'.repeat(1_023)}`);
  });

  it.each([
    ['the password', 'pass word'],
    ['user and password', Buffer.from('me:pass word').toString('base64')],
    ['the query', 'key=abcdefgh'],
  ])('has no body that repeats %s of the URL', (_, repeated) => {
    const url = new URL('https://me:pass%20word@chat.example.com/?key=abcdefgh&v=1');
    expect(sent({ url, body: JSON.stringify({ text: `> ${repeated}!` }) }).body).toBe(
      '(not shown: it contains a secret)',
    );
  });

  it('does not tell who chooses the body which texts are in values of headers', () => {
    const headers = { authorization: 'Bearer 2d0c5c1e7a', 'x-monitoring-webhook-token': 'token-of-acme' };
    const body = JSON.stringify(Object.values(headers));
    expect(sent({ headers, body }).body).toBe(body);
  });

  it('has no eight characters of a password, wherever the body repeats it', () => {
    const text = fc.string({ unit: fc.constantFrom(...'abcdefgh01'), minLength: 8, maxLength: 40 });
    const filler = fc.integer({ min: 0, max: 4_100 }).map((length) => '-'.repeat(length));
    fc.assert(
      fc.property(text, fc.array(filler, { minLength: 1, maxLength: 3 }), (secret, fillers) => {
        const url = new URL(`https://me:${secret}@chat.example.com`);
        const shown = sent({ url, body: fillers.join(secret) + secret }).body ?? '';
        for (let at = 0; at + 8 <= secret.length; at++) expect(shown).not.toContain(secret.slice(at, at + 8));
      }),
    );
  });

  it('has no body if there is too much to search for', () => {
    const url = new URL(`https://chat.example.com/?${'s'.repeat(70_000)}`);
    expect(sent({ url })).not.toHaveProperty('body');
  });
});
