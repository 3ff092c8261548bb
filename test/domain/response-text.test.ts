import fc from 'fast-check';
import { escape as escapeHtml } from 'html-escaper';
import { describe, expect, it } from 'vitest';
import { responseText } from '../../shared/domain/response-text.ts';

const SECRET = 'tok/en+ "1" & <2> \'3\'';
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
    ['in JSON of Go', String.raw`tok/en+ \"1\" \u0026 \u003c2\u003e '3'`],
    ['in JSON of .NET', String.raw`tok/en\u002B \u00221\u0022 \u0026 \u003C2\u003E \u00273\u0027`],
    ['in HTML', escapeHtml(SECRET)],
    ['in HTML of Go', 'tok/en+ &#34;1&#34; &amp; &lt;2&gt; &#39;3&#39;'],
    ['in HTML of Python', 'tok/en+ &quot;1&quot; &amp; &lt;2&gt; &#x27;3&#x27;'],
    ['in HTML of PHP', 'tok/en+ &quot;1&quot; &amp; &lt;2&gt; &#039;3&#039;'],
    ['in UTF-16', Buffer.from(SECRET, 'utf16le').toString()],
    ['as Python’s quote does', encodeURIComponent(SECRET).replaceAll('%2F', '/').replaceAll("'", '%27')],
    ['with every byte in percent', [...Buffer.from(SECRET)].map((byte) => `%${byte.toString(16)}`).join('')],
    [
      'with every character as hexadecimal entity',
      [...SECRET].map((c) => `&#x${c.charCodeAt(0).toString(16)};`).join(''),
    ],
    ['with every character as \\u', [...SECRET].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join('')],
    ['in lines of HTML', [...SECRET].join('<br />')],
    ['with invisible characters', [...SECRET].join('\u200b')],
  ])('masks a secret %s', (_, repeated) => {
    expect(responseText(`Wrong: ${repeated}!`, [SECRET])).toBe('Wrong: ***!');
  });

  it.each(['\n', '\r\n', '\\n', '\n\t'])(
    'masks a Base64 secret that is wrapped with %j, without its lines',
    (lineBreak) => {
      const secret = Buffer.from('a secret of four lines '.repeat(10)).toString('base64');
      const wrapped = secret.replace(/.{76}/g, `$&${lineBreak}`);
      expect(responseText(`Wrong: ${wrapped}!`, [secret])).toBe('Wrong: ***!');
      expect(responseText('Wrong:\nabc', [secret])).toBe('Wrong: abc');
    },
  );

  it.each([
    ['Bearer abcdef', 'abcdef'],
    [BASIC, BASIC.slice('Basic '.length)],
    [BASIC, 'me:pass word'],
    [BASIC, 'pass word'],
    [`Basic ${Buffer.from('abcdef:').toString('base64')}`, 'abcdef'],
    ['whsec_c2VjcmV0', 'c2VjcmV0'],
    [BASIC, BASIC.slice('Basic '.length).replaceAll('=', '')],
    ['theme=dark; session=abcdef12', 'abcdef12'],
    ['HMAC id=key1, signature="abcdef12"', 'abcdef12'],
  ])('masks the credentials of %s: %s', (secret, repeated) => {
    expect(responseText(`Wrong - ${repeated}!`, [secret])).toBe('Wrong - ***!');
  });

  it('contains no part of a secret at the end of a cut body', () => {
    const secret = 's'.repeat(1_024);
    for (const length of [16_384 - 300, 16_384 - 1_000]) {
      const body = `${'\u200b'.repeat(length)}${secret.slice(0, 500)}${'\u200b'.repeat(5_000)}`;
      expect(responseText(body, [secret])).toBe('***');
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

  describe('with an encoded secret', () => {
    const encodings: ((character: string) => string)[] = [
      (character) => character,
      (character) => [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
      (character) => `&#${character.codePointAt(0)};`,
      (character) => `&#X${character.codePointAt(0)?.toString(16)};`,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      (character) => `${character}\\r\\n  `,
      (character) => `${character}<br>`,
    ];
    const secret = fc.string({ unit: fc.constantFrom(...'xyZ/+=&<>"\'%: é'), minLength: 8, maxLength: 60 });

    it('contains no run of eight characters of it in any of the encodings, wrapped or cut', () => {
      fc.assert(
        fc.property(secret, fc.constantFrom(...encodings), fc.nat({ max: 60 }), (text, encode, cut) => {
          const shown = text.slice(0, cut).replace(/^[ +]+|[ +]+$/g, '');
          fc.pre(shown.replace(/[ +]/g, '').length >= 8);
          expect(responseText(`- ${[...shown].map(encode).join('')}`, [text])).toMatch(/^- \*\*\*(?:<br>|\\r\\n)?$/);
        }),
      );
    });

    it('contains neither it nor anything else of it if each character has another encoding', () => {
      const letters = fc.string({ unit: fc.constantFrom(...'xyZ/=-_.:'), minLength: 8, maxLength: 60 });
      const order = fc.array(fc.constantFrom(...encodings), { minLength: 60, maxLength: 60 });
      fc.assert(
        fc.property(fc.array(letters, { minLength: 1, maxLength: 20 }), order, (secrets, encode) => {
          const repeated = secrets.map((text) => [...text].map((letter, at) => encode[at]?.(letter)).join(''));
          const shown = responseText(`(${repeated.join(')(')})`, secrets) ?? '';
          expect(shown.replaceAll(/<br>|\\r\\n|\s/g, '')).toMatch(/^(?:\(\*\*\*\))*(?:\(\**)?$/);
        }),
      );
    });
  });

  it('masks a secret of fewer than eight characters as a whole, and none of its parts', () => {
    expect(responseText('Unknown key k3y-9, not k3y-', ['k3y-9'])).toBe('Unknown key ***, not k3y-');
  });

  it('takes time linear in the body: 20 secrets of 800 characters in 64 KB', () => {
    const secrets = Array.from({ length: 20 }, (_, index) => `${'a'.repeat(799)}${index}`);
    expect(responseText('a'.repeat(65_536), secrets)).toBe('***');
  });
});
