import fc from 'fast-check';
import { escape as escapeHtml } from 'html-escaper';
import { describe, expect, it } from 'vitest';
import { responseText } from '../../shared/domain/response-text.ts';

const SECRET = 'tok/en "1" & <2>';
const BASIC = `Basic ${Buffer.from('me:pass word').toString('base64')}`;

describe('the text of a failed response', () => {
  it.each([
    ['', undefined],
    [' \r\n\u0000\u200b ', undefined],
    ['{\n  "error": "invalid_auth"\n}', '{ "error": "invalid_auth" }'],
    ['\u202eno\u0007 such\tchannel', 'no such channel'],
    ['😀'.repeat(300), '😀'.repeat(256)],
  ])('of the body %j is its first 256 printable characters on one line', (body, text) => {
    expect(responseText(body, [])).toBe(text);
  });

  it.each([
    ['as it is', SECRET],
    ['in another case', SECRET.toUpperCase()],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['in JSON with escaped slashes', JSON.stringify(SECRET).slice(1, -1).replaceAll('/', '\\/')],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a form', encodeURIComponent(SECRET).replaceAll('%20', '+')],
    ['in HTML', escapeHtml(SECRET)],
    ['with invisible characters', [...SECRET].join('\u200b')],
  ])('masks a secret %s', (_, repeated) => {
    expect(responseText(`Wrong: ${repeated}!`, [SECRET])).toBe('Wrong: ***!');
  });

  it.each([
    ['Bearer abcdef', 'abcdef'],
    [BASIC, BASIC.slice('Basic '.length)],
    [BASIC, 'me:pass word'],
    [BASIC, 'pass word'],
  ])('masks the credentials of %s: %s', (secret, repeated) => {
    expect(responseText(`Wrong: ${repeated}!`, [secret])).toBe('Wrong: ***!');
  });

  it('contains no part of a secret at the end of a cut body', () => {
    const secret = 's'.repeat(1_024);
    for (const length of [16_384 - 300, 16_384 - 1_000]) {
      const body = `${'\u200b'.repeat(length)}${secret.slice(0, 500)}${'\u200b'.repeat(5_000)}`;
      expect(responseText(body, [secret])).toBeUndefined();
    }
  });

  it('contains a secret of a body of any length neither whole nor cut by its own length', () => {
    const secret = 'x7Qp-'.repeat(10);
    fc.assert(
      fc.property(fc.string({ maxLength: 600 }), fc.nat({ max: 20_000 }), (text, offset) => {
        const found = responseText(`${' '.repeat(offset)}${text}${secret}${text}`, [secret]) ?? '';
        expect(found).not.toContain('x7Qp-x7Qp');
        expect([...found].length).toBeLessThanOrEqual(256);
      }),
    );
  });

  it('takes time linear in the body: 20 secrets of 800 characters in 64 KB', () => {
    const secrets = Array.from({ length: 20 }, (_, index) => `${'a'.repeat(799)}${index}`);
    expect(responseText('a'.repeat(65_536), secrets)).toMatch(/^a{256}$/);
  });
});
