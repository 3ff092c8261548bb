import fc from 'fast-check';
import { findMessageError } from 'local-aws/ses-limits.ts';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { type RawEmailParts, rawEmail } from '../../shared/domain/raw-email.ts';

const parts: RawEmailParts = {
  from: 'alerts@example.org',
  to: 'oncall@example.com',
  subject: '[CRITICAL] web-1: Disk space',
  text: 'Disk is full\n',
  html: '<p>Disk is full</p>',
};

const parsed = (changes: Partial<RawEmailParts>) => PostalMime.parse(rawEmail({ ...parts, ...changes }));

/** Texts with line ends, encoded words, boundaries and long runs. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.constantFrom(
        '\n',
        '\r\n',
        ' ',
        '=?UTF-8?Q?a?=',
        '--=_alternative--',
        '\n.\n',
        'From ',
        'x'.repeat(1_100),
        '磁盘',
      ),
    ),
  )
  .map((texts) => texts.join('').toWellFormed().replaceAll('\0', ''));

describe('a raw email', () => {
  it('has its recipient, sender, reply address and other headers', async () => {
    const headers = { 'List-Unsubscribe': `<https://example.org/opt-out?link=${'a'.repeat(700)}>` };
    const email = await parsed({ replyTo: 'help@example.org', headers });
    expect(email).toMatchObject({
      from: { address: 'alerts@example.org' },
      to: [{ address: 'oncall@example.com' }],
      replyTo: [{ address: 'help@example.org' }],
      subject: parts.subject,
    });
    expect(email.headers.find(({ key }) => key === 'list-unsubscribe')?.value).toBe(headers['List-Unsubscribe']);
  });

  it('has the same text and HTML when it is read, and lines that SES accepts', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (text, html) => {
        const raw = rawEmail({ ...parts, text, html });
        expect(findMessageError(Buffer.from(raw))).toBeUndefined();
        const email = await PostalMime.parse(raw);
        const lines = (value = '') => value.replace(/\r\n/g, '\n').trimEnd();
        expect([lines(email.text), lines(email.html)]).toEqual([lines(text), lines(html)]);
      }),
    );
  });

  it('has the same subject when it is read, in ASCII and without control characters', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const subject = text.slice(0, 300).toWellFormed();
        const raw = rawEmail({ ...parts, subject });
        expect(findMessageError(Buffer.from(raw))).toBeUndefined();
        const spaced = (value = '') => value.replace(/[\p{Cc}\s]+/gu, ' ').trim();
        expect(spaced((await PostalMime.parse(raw)).subject)).toBe(spaced(subject));
      }),
    );
  });

  it('has no header that a subject or an address tries to add', async () => {
    const email = await parsed({ subject: 'a\r\nBcc: evil@example.com', to: 'a@example.com\r\nX-Evil: 1' });
    expect(email.headers.map(({ key }) => key)).toEqual(['from', 'to', 'subject', 'mime-version', 'content-type']);
  });
});
