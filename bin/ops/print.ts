import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { replaceControls } from '../../shared/contracts/text.ts';

export type Color = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

/** Colors a text if standard output is a terminal and NO_COLOR is not set. */
export const colorize = (color: Color, text: string): string => styleText(color, text, { stream: process.stdout });

/** Replaces control characters in untrusted text, such as IDs and labels. */
export const sanitize = replaceControls;

/** Formats a timestamp in ms as ISO 8601 in UTC with milliseconds. */
export const isoTime = (timestampMs: number): string => new Date(timestampMs).toISOString();

/** Formats a timestamp in ms as ISO 8601 in UTC to the second, for tables and sentences. */
export const toSecond = (timestampMs: number): string => `${isoTime(timestampMs).slice(0, 19)}Z`;

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

/** A column of a table. Numbers are right-aligned. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => string | number, align?: 'right'];

const pad = (text: string, width: number, isRight: boolean): string => {
  const padding = ' '.repeat(width - stringWidth(text));
  return isRight ? padding + text : text + padding;
};

/** Formats a table without borders, suitable for grep. It ends with a line break. */
export const formatTable = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string => {
  const formatted = columns.map(([heading, cell, align]) => {
    const values = rows.map(cell);
    const texts = [colorize('bold', heading), ...values.map(String)];
    const width = Math.max(...texts.map((text) => stringWidth(text)));
    return texts.map((text) => pad(text, width, align === 'right' || typeof values[0] === 'number'));
  });
  const lines = [undefined, ...rows].map((_, line) => formatted.map((texts) => texts[line]).join('  '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
};
