import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

const maps = new Map<string, SourceMap | undefined>();

/** Replaces positions in bundles with a source map beside them (`index.js.map`) by those in the TypeScript sources. */
export const withSourceFrames = (text: string): string => text.split('\n').map(withSourcePosition).join('\n');

const withSourcePosition = (line: string): string => {
  const { start = '', file = '', row, column, end = '' } = FRAME.exec(line)?.groups ?? {};
  const entry = mapOf(file)?.findEntry(Number(row) - 1, Number(column) - 1);
  if (!entry || !('originalSource' in entry)) return line;
  return `${start}${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}${end}`;
};

/** A frame of a V8 stack trace, such as `at send (/tmp/bundle/index.js:37:58225)`. */
const FRAME =
  /^(?<start> *at (?:async )?(?:[^()]+ \()?)(?<file>\/[^()]*\/index\.js):(?<row>\d+):(?<column>\d+)(?<end>\)?)$/;

/** Reads a source map once. Its name contains the hash of the bundle, so its content never changes. */
const mapOf = (file: string): SourceMap | undefined => {
  if (file === '') return undefined;
  const path = `${file}.map`;
  if (!maps.has(path))
    maps.set(path, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : undefined);
  return maps.get(path);
};
