import { styleText } from 'node:util';
import Table from 'cli-table3';

/** A color or text style. */
export type Color = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

/** Colors a text if standard output is a terminal and NO_COLOR is not set. */
export const colorize = (color: Color, text: string): string => styleText(color, text, { stream: process.stdout });

const BORDERLESS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '   ',
};

/** A column of a table. Numbers are right-aligned. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => string | number, align?: 'right'];

/** Formats a table without borders, suitable for grep and cut. It ends with a line break. */
export const table = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string => {
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row)));
  const output = new Table({
    head: columns.map(([heading]) => colorize('bold', heading)),
    chars: BORDERLESS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: columns.map(([, , align], index) => align ?? (typeof cells[0]?.[index] === 'number' ? 'right' : 'left')),
  });
  output.push(...cells);
  return `${output.toString().replace(/ +$/gm, '')}\n`;
};

/** Replaces control characters in untrusted text, such as IDs and labels, and truncates it to 100 characters. */
export const sanitize = (text: string): string => {
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
  return clean.length > 100 ? `${clean.slice(0, 99)}…` : clean;
};

/** Formats a timestamp in ms as ISO 8601 in UTC, to the second. */
export const formatTime = (timestampMs: number): string => `${new Date(timestampMs).toISOString().slice(0, 19)}Z`;

/** Returns `1 message`, `2 messages` and so on. */
export const pluralize = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
