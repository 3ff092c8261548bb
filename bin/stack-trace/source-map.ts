import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import { z } from 'zod';
import { enclosingFunctions } from './enclosing-function.ts';

/** A position in the sources. */
export type OriginalFrame = {
  /** The file, relative to the project directory. */
  source: string;
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  /** The function that contains the position; null if none has a name, and for libraries. */
  function: string | null;
  /** The line of code; null for libraries, whose text the map does not contain. */
  code: string | null;
};

/** The source map of a function's bundle. */
export type SourceMap = {
  /** The name of the Lambda function; null for another bundle. */
  functionName: string | null;
  /** Returns the position in the sources of a position in the bundle, both from 1; undefined if it has none. */
  locate(line: number, column: number): OriginalFrame | undefined;
};

const mapSchema = z.object({
  version: z.literal(3),
  sources: z.array(z.string()),
  sourcesContent: z.array(z.string().nullable()).optional(),
  names: z.array(z.string()),
  mappings: z.string(),
});

/** Parses a source map. @throws ZodError or SyntaxError if the text is not a source map */
export const parseSourceMap = (text: string): SourceMap => {
  const map = mapSchema.parse(JSON.parse(text));
  const tracer = new TraceMap({ ...map, sourcesContent: map.sourcesContent ?? [] });
  const functionsOf = new Map<string, (offset: number) => string | undefined>();
  const nameAt = (source: string, content: string, offset: number): string | null => {
    const functions = functionsOf.get(source) ?? enclosingFunctions(content);
    functionsOf.set(source, functions);
    return functions(offset) ?? null;
  };
  return {
    functionName: map.sources.map((source) => /^functions\/(.+)\.ts$/.exec(source)?.[1]).find(Boolean) ?? null,
    locate(line, column) {
      const position = originalPositionFor(tracer, { line, column: column - 1 });
      if (position.source === null) return undefined;
      const { source } = position;
      const found = { source, line: position.line, column: position.column + 1 };
      const content = map.sourcesContent?.[map.sources.indexOf(source)] ?? undefined;
      if (content === undefined) return { ...found, function: null, code: null };
      const lines = content.split('\n');
      const offset =
        lines.slice(0, position.line - 1).join('\n').length + (position.line > 1 ? 1 : 0) + position.column;
      return { ...found, function: nameAt(source, content, offset), code: lines[position.line - 1] ?? null };
    },
  };
};
