import stringWidth from 'string-width';
import { colorize } from './print.ts';

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
