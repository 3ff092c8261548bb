import { styleText } from 'node:util';
import Table from 'cli-table3';

/** A colour by which a word is seen at once. */
export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

/** Colours a text where standard output is a terminal that wants colours (NO_COLOR is heeded). */
export const coloured = (colour: Colour, text: string): string => styleText(colour, text, { stream: process.stdout });

const borderless = {
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

/** A column of a table: its heading, and what a row shows there. Numbers stand at its right edge. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => string | number, side?: 'right'];

/** Rows in columns, without lines, so that it can be searched and cut; ends with a line break. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row)));
  const made = new Table({
    head: columns.map(([heading]) => coloured('bold', heading)),
    chars: borderless,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: columns.map(([, , side], index) => side ?? (typeof cells[0]?.[index] === 'number' ? 'right' : 'left')),
  });
  made.push(...cells);
  return `${made.toString().replace(/ +$/gm, '')}\n`;
}

/** Text that others wrote (an id, a label), so that it cannot steer the terminal, nor fill it. */
export function foreign(text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
  return clean.length > 100 ? `${clean.slice(0, 99)}…` : clean;
}

/** A moment as everybody reads it, to the second. */
export const moment = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

/** `1 message`, `2 messages`. */
export const amount = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
