import fc from 'fast-check';
import { escape as escapeHtml } from 'html-escaper';
import { describe, expect, it } from 'vitest';
import { responseText } from '../../shared/domain/response-text.ts';
import { forAll } from '../support/quick-run.ts';

const SECRET = 'tok/en+ "1" & <2> \'3\'';
const NOT_SHOWN = '(not shown: it contains a secret)';
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
    ['with invisible characters', [...SECRET].join('\u200b')],
  ])('is not shown with a secret %s', (_, repeated) => {
    expect(responseText(`Wrong: ${repeated}!`, [SECRET])).toBe(NOT_SHOWN);
  });

  it.each(['\n', '\r\n', '\\n', '\n\t'])('is not shown with a Base64 secret that is wrapped with %j', (lineBreak) => {
    const secret = Buffer.from('a secret of four lines '.repeat(10)).toString('base64');
    const wrapped = secret.replace(/.{76}/g, `$&${lineBreak}`);
    expect(responseText(`Wrong: ${wrapped}!`, [secret])).toBe(NOT_SHOWN);
    expect(responseText('Wrong:\nabc', [secret])).toBe('Wrong: abc');
  });

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
  ])('is not shown with the credentials of %s: %s', (secret, repeated) => {
    expect(responseText(`Wrong - ${repeated}!`, [secret])).toBe(NOT_SHOWN);
  });

  it('is shown without a secret that is close to one', () => {
    expect(responseText('Unknown key 1234567', ['12345678'])).toBe('Unknown key 1234567');
  });

  it('is not shown with eight characters of a secret, as of one that the receiver has cut', () => {
    expect(responseText('Unknown key 12345678...', ['123456789'])).toBe(NOT_SHOWN);
    expect(responseText('Unknown key 3456789', ['123456789'])).toBe('Unknown key 3456789');
  });

  it('contains no part of a secret, wherever that is in the body', () => {
    const secret = 'x7Qp-'.repeat(10);
    forAll(500)(fc.constantFrom(' ', '.', '. ', '%2e'), fc.nat({ max: 5_000 }), (filler, count) => {
      const text = responseText(`${filler.repeat(count)}${secret}${secret}`, [secret]) ?? '';
      expect(text === NOT_SHOWN || !text.includes('x')).toBe(true);
    });
    expect(responseText(`${'.'.repeat(252)}${secret}`, [secret])).toBe(NOT_SHOWN);
    expect(responseText(`${'.'.repeat(252)}abcdefg`, ['abcdefg'])).toBe(NOT_SHOWN);
  });

  it('is shown if a secret follows long after it', () => {
    expect(responseText(`Wrong key.${' '.repeat(4_096)}${SECRET}`, [SECRET])).toBe('Wrong key.');
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

    it('is not shown with eight characters of it in any of the encodings, wrapped or cut', () => {
      forAll(100)(secret, fc.constantFrom(...encodings), fc.nat({ max: 60 }), (text, encode, cut) => {
        const shown = text.slice(0, cut).replace(/^[ +]+|[ +]+$/g, '');
        fc.pre(shown.replace(/[ +]/g, '').length >= 8);
        expect(responseText(`- ${[...shown].map(encode).join('')}`, [text])).toBe(NOT_SHOWN);
      });
    });

    it('is not shown if each character has another encoding', () => {
      const letters = fc.string({ unit: fc.constantFrom(...'xyZ/=-_.:'), minLength: 8, maxLength: 60 });
      const order = fc.array(fc.constantFrom(...encodings), { minLength: 60, maxLength: 60 });
      forAll(100)(fc.array(letters, { minLength: 1, maxLength: 20 }), order, (secrets, encode) => {
        const repeated = secrets.map((text) => [...text].map((letter, at) => encode[at]?.(letter)).join(''));
        expect(responseText(`(${repeated.join(')(')})`, secrets)).toBe(NOT_SHOWN);
      });
    });
  });

  it('is not shown with a whole secret of fewer than eight characters, but with its parts', () => {
    expect(responseText('Unknown key k3y-9', ['k3y-9'])).toBe(NOT_SHOWN);
    expect(responseText('Unknown key k3y-', ['k3y-9'])).toBe('Unknown key k3y-');
  });

  it.each(['5', 'eu', 'on '])('is shown with the header value %j, which is too short to be secret', (value) => {
    expect(responseText(`Error 500 on eu-1, not on eu-5`, [value])).toBe('Error 500 on eu-1, not on eu-5');
  });
});
