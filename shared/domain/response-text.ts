import { plainLine } from './alert-text.ts';

/** In code points. */
const MAX_LENGTH = 256;
/** The text is in the first characters of a body, in UTF-16 units. */
const MAX_SOURCE_LENGTH = 2_048;
/** Twice as many, so that a secret at the end of the text is found as a whole. More would take too long. */
const MAX_SEARCHED_LENGTH = 2 * MAX_SOURCE_LENGTH;
/** With longer secrets together, in UTF-16 units, searching would take too long: then no text is shown. */
const MAX_SECRETS_LENGTH = 65_536;
/** A text contains a secret if it contains this many of its characters, or a shorter one as a whole. */
const RUN_LENGTH = 8;
/** Shorter header values, and parts of them such as `eu` in `Token eu`, are not secret. */
const MIN_PART_LENGTH = 4;

const NOT_SHOWN = '(not shown: it contains a secret)';

/** The HTML names that encoders use, each with its ASCII character. Those that are missing here decode to nothing. */
const ENTITIES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'amp& lt< gt> quot" apos\' sol/ equals= colon: semi; comma, period. commat@ lowbar_ hyphen- excl! quest? num#',
    'dollar$ percnt% ast* lpar( rpar) lsqb[ lbrack[ rsqb] rbrack] lcub{ lbrace{ rcub} rbrace} verbar| vert| hat^ grave`',
  ]
    .flatMap((entities) => entities.split(' '))
    .map((entity) => [entity.slice(0, -1), entity.slice(-1)]),
);

/** What may stand between the characters of a secret: white space, `+` of forms, `\` of JSON, invisible characters. */
const IGNORED = /[\s+\\\p{Cc}\p{Cf}]/gu;

/** What does not stand for itself. Each alternative has a bound. */
const ENCODED =
  /(?:%[\da-f]{2}){1,1024}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4}|\\[bfnrt]|&#x[\da-f]{1,8};|&#\d{1,8};|&[a-z]{2,8};|<br\s{0,4}\/?>/gi;

const decodedText = (code: string): string => {
  const text = code.toLowerCase();
  if (text.startsWith('%')) return Buffer.from(text.replaceAll('%', ''), 'hex').toString();
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

/** The form that is searched, and searched for. */
const searchable = (text: string): string => text.replace(IGNORED, '').toLowerCase();

const decoded = (text: string): string => searchable(text.replace(ENCODED, decodedText));

/**
 * Also what the runs of a secret do not contain: short credentials after an authentication scheme, decoded for Basic
 * (RFC 7617), and the short key of a signing secret.
 */
const partsOf = (secret: string): string[] => {
  const [scheme = '', ...rest] = secret.split(' ');
  const credentials = rest.join(' ').trim();
  const basic = scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString() : '';
  const [user = ''] = basic.split(':', 1);
  const parts = [credentials, basic, user, basic.slice(user.length + 1), secret.replace(/^whsec_/, '')];
  return [secret, ...parts].filter(({ length }) => length >= MIN_PART_LENGTH);
};

function* runsOf(text: string): Generator<string> {
  for (let end = RUN_LENGTH; end <= text.length; end++) yield text.slice(end - RUN_LENGTH, end);
}

/**
 * Finds eight characters of a secret, or a shorter secret, also if they are encoded, wrapped or in another case. Each
 * secret is searched for as it is and decoded, because it may itself look encoded.
 */
const containsSecret = (text: string, forms: ReadonlySet<string>): boolean => {
  const source = decoded(text);
  const runs = new Set(runsOf(source));
  return [...forms].some((form) =>
    form.length < RUN_LENGTH ? source.includes(form) : runsOf(form).some((run) => runs.has(run)),
  );
};

/**
 * Says so if the source contains a secret (docs/api.md#test-operations). Returns undefined if the secrets are too long
 * to search for, or if one has nothing to search for.
 */
export const withoutSecrets = (text: string, secrets: readonly string[], source = text): string | undefined => {
  if (secrets.reduce((sum, { length }) => sum + length, 0) > MAX_SECRETS_LENGTH) return undefined;
  const forms = new Set(secrets.flatMap(partsOf).flatMap((part) => [searchable(part), decoded(part)]));
  if (forms.has('')) return undefined;
  return containsSecret(source, forms) ? NOT_SHOWN : text;
};

/** Returns the first 256 printable characters of a response body on one line (`withoutSecrets`), if there are some. */
export const responseText = (body: string, secrets: readonly string[]): string | undefined => {
  const source = body.slice(0, MAX_SEARCHED_LENGTH).toWellFormed();
  const line = plainLine(source.slice(0, MAX_SOURCE_LENGTH).replace(/[^\P{Cc}\s]+/gu, ''));
  const text = [...line].slice(0, MAX_LENGTH).join('').trim();
  return text === '' ? undefined : withoutSecrets(text, secrets, source);
};
