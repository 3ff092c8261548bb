import stringWidth from 'string-width';
import { colorize } from './print.ts';
import { shortenId, truncateText } from './shorten.ts';

/** How a column behaves in a table that is too wide. */
type ColumnOptions = {
  align?: 'right';
  /** Where its cells are cut: IDs in the `middle`, so that they stay unambiguous. Such cells must have no colors. */
  cut?: 'start' | 'middle' | 'end';
  /** The share of the end in an ID that is cut in the middle, from 0 to 1. */
  tailShare?: number;
  /** The width to which its cells can be cut, in columns of a terminal. */
  minWidth?: number;
  /** The column is omitted if cutting is not enough, the lowest number first. Those that identify a row have none. */
  omit?: number;
};

/** A column of a table. Numbers are right-aligned. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => string | number, options?: ColumnOptions];

/** An event ID usually ends with the time and the state, which say more than its start. */
export const EVENT_ID: ColumnOptions = { cut: 'middle', tailShare: 0.75, minWidth: 12 };

/** A notification ID. */
export const NOTIFICATION_ID: ColumnOptions = { cut: 'middle', minWidth: 13 };

/** A table as text that ends with a line break, whether cells are cut, and the headings of omitted columns. */
export type FormattedTable = { text: string; isCut: boolean; omitted: string[] };

const GAP = '  ';

/** Returns a column with the texts of its cells. `minWidth` and `width` are its widths if it is cut and if it is not. */
const measure = <Row>(rows: readonly Row[], [heading, cell, options = {}]: Column<Row>) => {
  const { align, cut, tailShare, minWidth = 0, omit } = options;
  const values = rows.map(cell);
  const texts = values.map(String);
  const width = Math.max(stringWidth(heading), ...texts.map((text) => stringWidth(text)));
  return {
    heading,
    texts,
    isRight: align === 'right' || typeof values[0] === 'number',
    cut,
    tailShare,
    omit,
    width,
    minWidth: cut ? Math.min(width, Math.max(minWidth, stringWidth(heading))) : width,
  };
};

type MeasuredColumn = ReturnType<typeof measure>;

const totalWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);

/** Omits columns until the others fit if they are cut, or until none can be omitted. */
const omitColumns = (columns: readonly MeasuredColumn[], maxWidth: number): readonly MeasuredColumn[] => {
  if (totalWidth(columns.map(({ minWidth }) => minWidth)) <= maxWidth) return columns;
  const [first] = columns
    .filter(({ omit }) => omit !== undefined)
    .toSorted((left, right) => (left.omit ?? 0) - (right.omit ?? 0));
  return first
    ? omitColumns(
        columns.filter((column) => column !== first),
        maxWidth,
      )
    : columns;
};

/** Gives each column its minimum width, and distributes the rest to the columns that are still cut. */
const distribute = (columns: readonly MeasuredColumn[], maxWidth: number): number[] => {
  const widths = columns.map(({ minWidth }) => minWidth);
  let rest = Math.min(maxWidth, totalWidth(columns.map(({ width }) => width))) - totalWidth(widths);
  while (rest > 0) {
    for (const [index, { width }] of columns.entries()) {
      if (rest === 0 || widths[index] === undefined || widths[index] >= width) continue;
      widths[index]++;
      rest--;
    }
  }
  return widths;
};

const cutTexts = ({ cut, tailShare, texts }: MeasuredColumn, width: number): readonly string[] =>
  texts.map((text) => {
    if (cut === undefined) return text;
    return cut === 'middle' ? shortenId(text, width, tailShare) : truncateText(text, width, cut);
  });

const pad = (text: string, width: number, isRight: boolean): string => {
  const padding = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return isRight ? padding + text : text + padding;
};

/**
 * Formats a table without borders, suitable for grep. If it is wider than `maxWidth`, cuts cells and omits columns as
 * far as their options permit.
 *
 * @param maxWidth in columns of a terminal
 */
export const formatTable = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  maxWidth: number,
): FormattedTable => {
  const measured = columns.map((column) => measure(rows, column));
  const shown = omitColumns(measured, maxWidth);
  const widths = distribute(shown, maxWidth);
  const formatted = shown.map((column, index) => {
    const { heading, isRight } = column;
    const width = widths[index] ?? column.width;
    return [colorize('bold', heading), ...cutTexts(column, width)].map((text) => pad(text, width, isRight));
  });
  const lines = Array.from({ length: rows.length + 1 }, (_, line) =>
    formatted
      .map((texts) => texts[line] ?? '')
      .join(GAP)
      .trimEnd(),
  );
  const isCut = shown.some(({ width }, index) => (widths[index] ?? width) < width);
  const omitted = measured.filter((column) => !shown.includes(column)).map(({ heading }) => heading);
  return { text: `${lines.join('\n')}\n`, isCut, omitted };
};
