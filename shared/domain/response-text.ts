import { escape as escapeHtml } from 'html-escaper';
import { plainLine } from './alert-text.ts';

/** The maximum length of a response text, in code points. */
const MAX_LENGTH = 256;
/** How much of a body is searched for its text, in UTF-16 units. */
const MAX_SOURCE_LENGTH = 16_384;
/** The end of a longer body, which may contain the beginning of a secret: 1,024 characters, each as an HTML entity. */
const UNSAFE_END_LENGTH = 6_144;
/** Shorter parts of a secret, such as `eu` in `Token eu`, are not secret on their own. */
const MIN_PART_LENGTH = 4;
/** The same for words of a secret, such as `session` in `session=…`. */
const MIN_WORD_LENGTH = 8;

/**
 * Returns a secret and its parts: the credentials after an authentication scheme, decoded for Basic (RFC 7617), the key
 * of a signing secret, and the words of values such as cookies.
 */
const partsOf = (secret: string): string[] => {
  const [, scheme = '', credentials = ''] = /^(\S+) +(\S.*)$/.exec(secret) ?? [];
  const decoded = /^basic$/i.test(scheme) ? Buffer.from(credentials, 'base64').toString() : '';
  const [user = ''] = decoded.split(':', 1);
  const parts = [credentials, decoded, user, decoded.slice(user.length + 1), secret.replace(/^whsec_/, '')];
  const words = secret.split(/[\s,;:="']+/).filter(({ length }) => length >= MIN_WORD_LENGTH);
  return [secret, ...parts.filter(({ length }) => length >= MIN_PART_LENGTH), ...words];
};

const unicodeEscaped = (text: string, characters: RegExp): string =>
  text.replace(characters, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);

/** Returns a text as a receiver may repeat it: as it is, or encoded in JSON, a URL or HTML. */
const encodingsOf = (text: string): string[] => {
  const [json, url] = [JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())];
  const form = url.replaceAll('%20', '+');
  const html = escapeHtml(text);
  return [
    text,
    json,
    json.replaceAll('/', '\\/'),
    // Go and Rails; .NET.
    unicodeEscaped(json, /[<>&]/g),
    unicodeEscaped(text.replaceAll('\\', '\\\\'), /[<>&"'+`]/g),
    url,
    form,
    // A URL or form in a URL.
    encodeURIComponent(url),
    encodeURIComponent(form),
    html,
    // Go; Python; PHP.
    html.replaceAll('&quot;', '&#34;'),
    html.replaceAll('&#39;', '&#x27;'),
    html.replaceAll('&#39;', '&#039;'),
  ];
};

/** Creates the function that replaces secrets, in any case, by `***`. */
const masking = (secrets: readonly string[]): ((text: string) => string) => {
  const forms = new Set(secrets.filter(Boolean).flatMap(partsOf).flatMap(encodingsOf));
  if (forms.size === 0) return (text) => text;
  const longestFirst = [...forms].sort((first, second) => second.length - first.length);
  const pattern = new RegExp(longestFirst.map((form) => RegExp.escape(form)).join('|'), 'gi');
  return (text) => text.replace(pattern, '***');
};

/** Line breaks, also as JSON escapes them, with the indentation of the next line. */
const LINE_BREAKS = /(?:[\r\n]|\\[rn])[ \t]*/g;

const joinLines = (text: string): string => text.replace(LINE_BREAKS, '');

/** Masks secrets, also those that are broken into lines, as Base64 is: then the text loses its line breaks. */
const maskLines = (text: string, mask: (text: string) => string): string => {
  const [masked, joined] = [mask(text), mask(joinLines(text))];
  return joined.length < joinLines(masked).length ? joined : masked;
};

/**
 * Returns the first 256 printable characters of a response body on one line, without secrets that the receiver
 * repeats, or undefined if there are none.
 */
export const responseText = (body: string, secrets: readonly string[]): string | undefined => {
  const mask = masking(secrets);
  const source = maskLines(body.slice(0, MAX_SOURCE_LENGTH), mask);
  const complete = body.length > MAX_SOURCE_LENGTH ? source.slice(0, -UNSAFE_END_LENGTH) : source;
  // Removing invisible characters can join the parts of a secret. In UTF-16, every second one is NUL.
  const text = mask(plainLine(complete.replace(/[^\P{Cc}\s]+/gu, '')));
  return [...text].slice(0, MAX_LENGTH).join('').trim() || undefined;
};
