import { plainLine } from './alert-text.ts';

/** The maximum length of a response text, in code points. */
const MAX_LENGTH = 256;
/** How much of a body is searched for its text, in UTF-16 units. */
const MAX_SOURCE_LENGTH = 16_384;
/** With longer secrets together, in UTF-16 units, masking would take too long: then no text is shown. */
const MAX_SECRETS_LENGTH = 65_536;
/** A run of this many characters of a secret is masked. Shorter secrets are masked as a whole. */
const RUN_LENGTH = 8;
/** Shorter parts of a secret, such as `eu` in `Token eu`, are not secret on their own. */
const MIN_PART_LENGTH = 4;

/** The HTML names of ASCII characters that encoders use. Those that are missing here decode to nothing. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  sol: '/',
  equals: '=',
  colon: ':',
  semi: ';',
  comma: ',',
  period: '.',
  commat: '@',
  lowbar: '_',
  hyphen: '-',
  excl: '!',
  quest: '?',
  num: '#',
  dollar: '$',
  percnt: '%',
  ast: '*',
  lpar: '(',
  rpar: ')',
  lsqb: '[',
  lbrack: '[',
  rsqb: ']',
  rbrack: ']',
  lcub: '{',
  lbrace: '{',
  rcub: '}',
  rbrace: '}',
  verbar: '|',
  vert: '|',
  hat: '^',
  grave: '`',
};

/** What may stand between the characters of a secret: white space, `+` of forms, `\` of JSON, invisible characters. */
const IGNORED = /[\s+\\\p{Cc}\p{Cf}]+/gu;

/** The same, and everything else that does not stand for itself. Each alternative has a bound or repeats one class. */
const ENCODED =
  /%[\da-f]{2}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4}|\\[bfnrt]|&#x[\da-f]{1,8};|&#\d{1,8};|&[a-z]{2,8};|<br\s{0,4}\/?>|[\s+\\\p{Cc}\p{Cf}]/giu;

/** Returns a text in lower case without ignored characters, in UTF-8, of which each byte is a character. */
const utf8 = (text: string): string => Buffer.from(text.replace(IGNORED, '')).toString('latin1').toLowerCase();

const characterOf = (codePoint: number): string =>
  codePoint <= 0x10_ffff ? String.fromCodePoint(codePoint).toWellFormed() : '';

/** Returns what a match of `ENCODED` stands for, as `utf8` does. */
const decoded = (code: string): string => {
  const text = code.toLowerCase();
  if (text.startsWith('%')) {
    const byte = String.fromCharCode(Number.parseInt(text.slice(1), 16)).toLowerCase();
    return byte < '\x80' ? utf8(byte) : byte;
  }
  if (text.startsWith('\\u')) {
    const units = text.split('\\u').slice(1);
    return utf8(String.fromCharCode(...units.map((unit) => Number.parseInt(unit, 16))).toWellFormed());
  }
  if (text.startsWith('&#x')) return utf8(characterOf(Number.parseInt(text.slice(3, -1), 16)));
  if (text.startsWith('&#')) return utf8(characterOf(Number(text.slice(2, -1))));
  return text.startsWith('&') ? utf8(ENTITIES[text.slice(1, -1)] ?? '') : '';
};

/** A decoded text in lower case, in UTF-8, and for each of its bytes where it starts and ends in the source. */
type Decoded = { bytes: string; starts: number[]; ends: number[] };

const decode = (source: string): Decoded => {
  const result: Decoded = { bytes: '', starts: [], ends: [] };
  const add = (bytes: string, start: number, end: number): void => {
    result.bytes += bytes;
    for (let count = bytes.length; count > 0; count--) {
      result.starts.push(start);
      result.ends.push(end);
    }
  };
  const addPlain = (start: number, end: number): void => {
    let at = start;
    for (const character of source.slice(start, end)) {
      add(character < '\x80' ? character.toLowerCase() : utf8(character), at, at + character.length);
      at += character.length;
    }
  };
  let end = 0;
  for (const { 0: code, index } of source.matchAll(ENCODED)) {
    addPlain(end, index);
    end = index + code.length;
    add(decoded(code), index, end);
  }
  addPlain(end, source.length);
  return result;
};

/**
 * Returns a secret and those of its parts that its runs do not contain: the short credentials after an authentication
 * scheme, decoded for Basic (RFC 7617), and the short key of a signing secret.
 */
const partsOf = (secret: string): string[] => {
  const [scheme = '', ...rest] = secret.split(' ');
  const credentials = rest.join(' ').trim();
  const basic = scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString() : '';
  const [user = ''] = basic.split(':', 1);
  const parts = [credentials, basic, user, basic.slice(user.length + 1), secret.replace(/^whsec_/, '')];
  return [secret, ...parts.filter(({ length }) => length >= MIN_PART_LENGTH)];
};

/** Returns a text as `decode` does, as it is and decoded, because a secret may itself look encoded. */
const formsOf = (text: string): string[] => [utf8(text), decode(text).bytes];

/** Returns the runs of secrets by their length, or undefined if a secret has nothing to search for. */
const runsOf = (secrets: readonly string[]): ReadonlyMap<number, ReadonlySet<string>> | undefined => {
  const runs = new Map<number, Set<string>>();
  for (const form of new Set(secrets.flatMap(partsOf).flatMap(formsOf))) {
    const length = Math.min(form.length, RUN_LENGTH);
    if (length === 0) return undefined;
    const ofLength = runs.get(length) ?? new Set();
    runs.set(length, ofLength);
    for (let start = 0; start + length <= form.length; start++) ofLength.add(form.slice(start, start + length));
  }
  return runs;
};

/** Replaces the runs by `***`, with what stands between their characters. Its time is linear in the source. */
const masked = (source: string, runs: ReadonlyMap<number, ReadonlySet<string>>): string => {
  const { bytes, starts, ends } = decode(source);
  const isSecret = new Uint8Array(source.length);
  for (const [length, ofLength] of runs) {
    let next = 0;
    for (let start = 0; start + length <= bytes.length; start++) {
      if (!ofLength.has(bytes.slice(start, start + length))) continue;
      const end = ends[start + length - 1] ?? 0;
      isSecret.fill(1, Math.max(next, starts[start] ?? 0), end);
      next = end;
    }
  }
  let text = '';
  for (let start = 0; start < source.length; ) {
    const other = isSecret.indexOf(1 - (isSecret[start] ?? 0), start);
    const end = other === -1 ? source.length : other;
    text += isSecret[start] ? '***' : source.slice(start, end);
    start = end;
  }
  return text;
};

/**
 * Returns the first 256 printable characters of a response body on one line, or undefined if there are none. Runs of
 * eight characters of a secret are masked, also if they are encoded, wrapped or cut (docs/api.md#test-operations).
 */
export const responseText = (body: string, secrets: readonly string[]): string | undefined => {
  const present = secrets.filter(Boolean);
  if (present.reduce((sum, { length }) => sum + length, 0) > MAX_SECRETS_LENGTH) return undefined;
  const runs = runsOf(present);
  if (runs === undefined) return undefined;
  const text = plainLine(masked(body.slice(0, MAX_SOURCE_LENGTH).toWellFormed(), runs).replace(/[^\P{Cc}\s]+/gu, ''));
  return [...text].slice(0, MAX_LENGTH).join('').trim() || undefined;
};
