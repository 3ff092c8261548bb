import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { isJsonObject, jsonOrUndefined } from '../../shared/contracts/json.ts';
import { errorSummary, OperationError } from './errors.ts';

/** An event as JSON, and where it comes from. */
export type EventInput = {
  /** The file, or `-` for standard input. */
  file: string;
  /** The line of an event in newline-delimited JSON, from 1. */
  line?: number;
  /** The index of an event in an array, from 0. */
  index?: number;
  text: string;
};

/** Returns the place of an event in words. */
export const describeSource = ({ file, line, index }: EventInput): string => {
  const source = file === '-' ? 'Standard input' : file;
  if (line !== undefined) return `${source}, line ${line}`;
  return index === undefined ? source : `${source}, index ${index}`;
};

/**
 * Reads one event, an array of events, or one event per line (NDJSON) from each file; `-` is standard input.
 *
 * @throws OperationError if a file cannot be read or contains no event
 */
export const readEvents = async (files: readonly string[]): Promise<EventInput[]> => {
  const inputs: EventInput[] = [];
  for (const file of files) {
    const found = splitEvents(file, await readText(file));
    if (found.length === 0) throw new OperationError(`${describeSource({ file, text: '' })} contains no event.`);
    inputs.push(...found);
  }
  return inputs;
};

/** Reads a file, or standard input for `-`. @throws OperationError if the file cannot be read */
const readText = async (file: string): Promise<string> => {
  try {
    return file === '-' ? await readAll(process.stdin) : readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperationError(`${file} cannot be read: ${errorSummary(error)}`);
  }
};

/** Returns the events of a text. A text that is neither JSON nor NDJSON is one event, which is not valid. */
export const splitEvents = (file: string, text: string): EventInput[] => {
  const parsed = jsonOrUndefined(text);
  if (Array.isArray(parsed)) return parsed.map((event, index) => ({ file, index, text: JSON.stringify(event) }));
  if (parsed !== undefined) return [{ file, text }];
  const lines = text
    .split('\n')
    .map((line, index) => ({ file, line: index + 1, text: line }))
    .filter((line) => line.text.trim() !== '');
  const isLineDelimited = lines.length > 1 && lines.some((line) => isJsonObject(jsonOrUndefined(line.text)));
  return isLineDelimited || lines.length === 0 ? lines : [{ file, text }];
};
