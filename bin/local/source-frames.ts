import { existsSync, readFileSync } from 'node:fs';
import { parseSourceMap, type SourceMap } from '../stack-trace/source-map.ts';
import { parseStackFrame } from '../stack-trace/stack-frame.ts';

const maps = new Map<string, SourceMap | undefined>();

/**
 * Replaces each line that is a stack frame in a bundle with a source map beside it (`index.js.map`) by the frame in the
 * TypeScript sources.
 */
export const withSourceFrames = (text: string): string => text.split('\n').map(withSourceFrame).join('\n');

const withSourceFrame = (line: string): string => {
  const frame = parseStackFrame(line);
  const original = frame && mapOf(frame.file)?.locate(frame.line, frame.column);
  if (!original) return line;
  const position = `${original.source}:${original.line}:${original.column}`;
  return `    at ${original.function === null ? position : `${original.function} (${position})`}`;
};

/** Reads a source map once. Its name contains the hash of the bundle, so its content never changes. */
const mapOf = (file: string): SourceMap | undefined => {
  if (!file.endsWith('/index.js')) return undefined;
  const path = `${file}.map`;
  if (!maps.has(path)) maps.set(path, existsSync(path) ? parseSourceMap(readFileSync(path, 'utf8')) : undefined);
  return maps.get(path);
};
