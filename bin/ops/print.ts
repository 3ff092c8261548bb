import { styleText } from 'node:util';
import { replaceControls } from '../../shared/contracts/text.ts';

/** A color or text style. */
export type Color = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

/** Colors a text if standard output is a terminal and NO_COLOR is not set. */
export const colorize = (color: Color, text: string): string => styleText(color, text, { stream: process.stdout });

/** Replaces control characters in untrusted text, such as IDs and labels. */
export const sanitize = replaceControls;

/** Formats a timestamp in ms as ISO 8601 in UTC with milliseconds. */
export const isoTime = (timestampMs: number): string => new Date(timestampMs).toISOString();

/** Formats a timestamp in ms as ISO 8601 in UTC to the second, for tables and sentences. */
export const toSecond = (timestampMs: number): string => `${isoTime(timestampMs).slice(0, 19)}Z`;

/** Returns `1 message`, `2 messages` and so on. */
export const pluralize = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Prints the value as JSON with `json`; otherwise prints the text, and the note on standard error. */
export const printResult = (json: boolean, value: unknown, text: string, note = ''): void => {
  process.stdout.write(json ? `${toJson(value)}\n` : withNewline(text));
  if (!json && note !== '') process.stderr.write(withNewline(note));
};

const withNewline = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

/** Characters that `sanitize` replaces and JSON permits in strings. JSON escapes the other control characters. */
const UNESCAPED = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

const escapeCharacter = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');

/** Serializes a value as JSON that a terminal shows as it is: control and format characters are escaped. */
export const toJson = (value: unknown, replacer?: (key: string, value: unknown) => unknown, indent?: number): string =>
  JSON.stringify(value, replacer, indent).replace(UNESCAPED, escapeCharacter);
