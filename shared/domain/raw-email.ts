import { encodeWord, encodeWords, foldLines } from 'nodemailer/lib/mime-funcs';
import { encode, wrap } from 'nodemailer/lib/qp';

/** Header values have at most 900 characters; `headers` are those beside the usual ones. */
export type RawEmailParts = {
  from: string;
  replyTo?: string | undefined;
  to: string;
  subject: string;
  text: string;
  html: string;
  headers?: Readonly<Record<string, string>> | undefined;
};

/** No part contains it, because quoted-printable encodes `=` (RFC 2045, section 6.7). */
const BOUNDARY = '=_alternative';

/** A text that looks like an encoded word is encoded, too: what it hides would be shown. */
const encoded = (value: string): string =>
  value.includes('=?') ? encodeWord(value, 'B', 52) : encodeWords(value, 'B', 52, true);

/** Some servers change a folded `List-Unsubscribe`, so that its DKIM signature fails. */
const fold = (name: string, line: string): string => (name === 'List-Unsubscribe' ? line : foldLines(line));

/** A line end in a value would start another header. */
const header = (name: string, value: string): string =>
  fold(name, `${name}: ${encoded(value.replace(/[\p{Cc}\s]+/gu, ' '))}`);

const part = (type: string, text: string): string[] => [
  `--${BOUNDARY}`,
  `Content-Type: ${type}; charset=utf-8`,
  'Content-Transfer-Encoding: quoted-printable',
  '',
  wrap(encode(text.replace(/\r?\n/g, '\r\n'))),
];

/** RFC 5322, in ASCII with lines of at most 998 characters. SES adds `Date` and `Message-ID`. */
export const rawEmail = ({ from, replyTo, to, subject, text, html, headers }: RawEmailParts): string =>
  [
    header('From', from),
    header('To', to),
    ...(replyTo ? [header('Reply-To', replyTo)] : []),
    header('Subject', subject),
    ...Object.entries(headers ?? {}).map(([name, value]) => header(name, value)),
    'MIME-Version: 1.0',
    `Content-Type: multipart/alternative; boundary="${BOUNDARY}"`,
    '',
    ...part('text/plain', text),
    ...part('text/html', html),
    `--${BOUNDARY}--`,
    '',
  ].join('\r\n');
