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
const IGNORED = /[\s+\\\p{Cc}\p{Cf}]/gu;

/** The same, and everything else that does not stand for itself. Each alternative has a bound. */
const ENCODED =
  /%[\da-f]{2}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4}|\\[bfnrt]|&#x[\da-f]{1,8};|&#\d{1,8};|&[a-z]{2,8};|<br\s{0,4}\/?>|[\s+\\\p{Cc}\p{Cf}]/giu;

/** Returns the character that a match of `ENCODED` or `IGNORED` stands for, or an empty text. */
const decodedCharacter = (code: string): string => {
  const text = code.toLowerCase();
  if (text.startsWith('\\u')) {
    const units = text.split('\\u').slice(1);
    return String.fromCharCode(...units.map((unit) => Number.parseInt(unit, 16)));
  }
  if (text.startsWith('&#')) {
    const number = text.slice(2, -1);
    const codePoint = number.startsWith('x') ? Number.parseInt(number.slice(1), 16) : Number(number);
    return codePoint <= 0x10_ffff ? String.fromCodePoint(codePoint) : '';
  }
  return text.startsWith('&') ? (ENTITIES[text.slice(1, -1)] ?? '') : '';
};

/** A decoded text: its UTF-8 bytes as characters, in lower case, and for each of them where it starts and ends. */
type Decoded = { bytes: string; starts: Uint32Array; ends: Uint32Array };

/** Decodes a text. @param pattern what does not stand for itself: `ENCODED`, or `IGNORED` to leave it as it is */
const decode = (source: string, pattern: RegExp): Decoded => {
  // A UTF-16 unit has at most three bytes.
  const bytes = Buffer.alloc(3 * source.length);
  const starts = new Uint32Array(bytes.length);
  const ends = new Uint32Array(bytes.length);
  let length = 0;
  const addByte = (byte: number, start: number, end: number): void => {
    bytes[length] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    starts[length] = start;
    ends[length++] = end;
  };
  const addText = (text: string, start: number, end: number): void => {
    for (const byte of Buffer.from(text.replace(IGNORED, ''))) addByte(byte, start, end);
  };
  const addPlain = (start: number, end: number): void => {
    for (let at = start; at < end; at++) {
      const unit = source.charCodeAt(at);
      if (unit < 0x80) addByte(unit, at, at + 1);
      else {
        const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
        addText(character, at, at + character.length);
        at += character.length - 1;
      }
    }
  };
  let end = 0;
  for (const { 0: code, index } of source.matchAll(pattern)) {
    addPlain(end, index);
    end = index + code.length;
    const byte = code.startsWith('%') ? Number.parseInt(code.slice(1), 16) : undefined;
    if (byte === undefined || byte < 0x80) {
      addText(byte === undefined ? decodedCharacter(code) : String.fromCharCode(byte), index, end);
    } else addByte(byte, index, end);
  }
  addPlain(end, source.length);
  return { bytes: bytes.toString('latin1', 0, length), starts, ends };
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

/** Tenants who choose secrets must not be able to choose hashes, too. */
const SEED = Math.floor(Math.random() * 2 ** 32);

/** Returns a hash of the `length` bytes from `start`, as an index below a power of two. */
const hashAt = (bytes: string, start: number, length: number, size: number): number => {
  let hash = SEED;
  for (let at = start; at < start + length; at++) hash = Math.imul(hash ^ bytes.charCodeAt(at), 0x0100_0193);
  return (hash ^ (hash >>> 15)) & (size - 1);
};

/**
 * Returns a function that returns whether the bytes from a position are a run of `length` bytes of one of the texts. A
 * set of strings would need four times as long.
 */
const createRunFinder = (texts: readonly string[], length: number) => {
  const all = texts.join('');
  const size = 2 ** Math.ceil(Math.log2(2 * all.length));
  /** Positions in `all` plus one, by hash. A position of another run follows in the next place. */
  const places = new Uint32Array(size);
  const isAt = (position: number, bytes: string, start: number): boolean => {
    for (let offset = 0; offset < length; offset++)
      if (all.charCodeAt(position + offset) !== bytes.charCodeAt(start + offset)) return false;
    return true;
  };
  /** Returns the place of a run, or the empty one where it belongs. */
  const placeOf = (bytes: string, start: number): number => {
    let place = hashAt(bytes, start, length, size);
    for (let found = places[place]; found && !isAt(found - 1, bytes, start); found = places[place])
      place = (place + 1) & (size - 1);
    return place;
  };
  let first = 0;
  for (const text of texts) {
    for (let start = first; start + length <= first + text.length; start++) places[placeOf(all, start)] ||= start + 1;
    first += text.length;
  }
  return (bytes: string, start: number): boolean => places[placeOf(bytes, start)] !== 0;
};

/** Finds runs of secrets in decoded texts. */
type RunFinder = { length: number; isRun: (bytes: string, start: number) => boolean };

/**
 * Returns the finders of runs, one for each length, or undefined if a secret has nothing to search for. Each secret is
 * searched for as it is and decoded, because it may itself look encoded.
 */
const findersOf = (secrets: readonly string[]): RunFinder[] | undefined => {
  const forms = new Set(
    secrets.flatMap(partsOf).flatMap((text) => {
      const patterns = /[%&\\<]/.test(text) ? [IGNORED, ENCODED] : [IGNORED];
      return patterns.map((pattern) => decode(text, pattern).bytes);
    }),
  );
  if (forms.has('')) return undefined;
  const byLength = Map.groupBy(forms, (form) => Math.min(form.length, RUN_LENGTH));
  return [...byLength].map(([length, texts]) => ({ length, isRun: createRunFinder(texts, length) }));
};

/** Replaces the runs by `***`, with what stands between their characters. Its time is linear in the source. */
const masked = (source: string, finders: readonly RunFinder[]): string => {
  const { bytes, starts, ends } = decode(source, ENCODED);
  const isSecret = new Uint8Array(source.length);
  for (const { length, isRun } of finders) {
    let next = 0;
    for (let start = 0; start + length <= bytes.length; start++) {
      if (!isRun(bytes, start)) continue;
      const end = ends[start + length - 1] ?? 0;
      for (let at = Math.max(next, starts[start] ?? 0); at < end; at++) isSecret[at] = 1;
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
 * Returns the first 16,384 units of a text, or fewer, with `***` instead of runs of eight characters of a secret, also if
 * they are encoded, wrapped or cut (docs/api.md#test-operations). Returns undefined if masking would take too long.
 */
export const maskSecrets = (text: string, secrets: readonly string[]): string | undefined => {
  const present = secrets.filter(Boolean);
  if (present.reduce((sum, { length }) => sum + length, 0) > MAX_SECRETS_LENGTH) return undefined;
  const finders = findersOf(present);
  return finders && masked(text.slice(0, MAX_SOURCE_LENGTH).toWellFormed(), finders);
};

/** Returns the first 256 printable characters of a response body on one line, masked, or undefined if there are none. */
export const responseText = (body: string, secrets: readonly string[]): string | undefined => {
  const shown = maskSecrets(body, secrets);
  if (shown === undefined) return undefined;
  const text = plainLine(shown.replace(/[^\P{Cc}\s]+/gu, ''));
  return [...text].slice(0, MAX_LENGTH).join('').trim() || undefined;
};
