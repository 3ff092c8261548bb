import { z } from 'zod';

const jsonObject = z.record(z.string(), z.unknown());
const metricDefinitions = z.object({
  CloudWatchMetrics: z.array(
    z.object({
      Dimensions: z.array(z.array(z.string())).default([]),
      Metrics: z.array(z.object({ Name: z.string() })).default([]),
    }),
  ),
});

/** Powertools fields to omit, because every line has them. */
const OMITTED = new Set([
  'level',
  'message',
  'timestamp',
  'service',
  'sampling_rate',
  'cold_start',
  'function_name',
  'function_arn',
  'function_memory_size',
  'xray_trace_id',
  '_aws',
]);

/**
 * Formats a line that a function printed: JSON logs as `time function LEVEL message key=value ...`, metrics (embedded
 * metric format) as `time function metric name=value dimension=value ...`. Other lines only get the time and the
 * function. Stack frames and further lines of a text follow indented. Control and format characters are escaped,
 * because lines contain values of requests and events.
 */
export const logLine = (functionName: string, line: string, now = new Date()): string =>
  escapeControls(format(functionName, line, now)).replace(/\n */g, '\n    ');

/** Characters that can change how a terminal shows a text, except line feeds. */
const CONTROLS = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

const escapeControls = (text: string): string =>
  text.replace(CONTROLS, (character) => {
    const codeUnits = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
    return codeUnits.map((code) => `\\u${code.toString(16).padStart(4, '0')}`).join('');
  });

const format = (functionName: string, line: string, now: Date): string => {
  const prefix = `${now.toISOString().slice(11, 23)} ${functionName}`;
  const parsed = parseLogLine(line);
  if (!parsed) return `${prefix} ${line}`;
  if ('_aws' in parsed) return `${prefix} metric ${pairs(metrics(parsed))}`;
  const { level, message } = parsed;
  if (typeof message !== 'string') return `${prefix} ${line}`;
  const others = Object.entries(parsed).filter(([key, value]) => !OMITTED.has(key) && !hasStackFrames(value));
  const frames = Object.values(parsed).filter(hasStackFrames).flat().filter(isStackFrame);
  const text = [prefix, level, message, pairs(others)].filter(Boolean).join(' ');
  return [text, ...frames].join('\n');
};

/** Parses a structured log line. Returns undefined if the line is not a JSON object. */
export const parseLogLine = (line: string): Record<string, unknown> | undefined => {
  if (!line.startsWith('{')) return undefined;
  try {
    return jsonObject.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
};

const isStackFrame = (line: string): boolean => /^\s*at /.test(line);

const hasStackFrames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((line) => typeof line === 'string') && value.some(isStackFrame);

const metrics = (line: Record<string, unknown>): [string, unknown][] => {
  const definitions = metricDefinitions.safeParse(line._aws).data?.CloudWatchMetrics ?? [];
  const names = definitions.flatMap(({ Metrics, Dimensions }) => [
    ...Metrics.map(({ Name }) => Name),
    ...Dimensions.flat(),
  ]);
  return [...new Set(names)].filter((name) => name !== 'service').map((name) => [name, line[name]]);
};

const pairs = (entries: [string, unknown][]): string =>
  entries
    .map(([key, value]) => `${key}=${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`)
    .join(' ');

const quoted = (text: string): string => (/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text));
