import { z } from 'zod';

const record = z.record(z.string(), z.unknown());
const metricDefinitions = z.object({
  CloudWatchMetrics: z.array(
    z.object({
      Dimensions: z.array(z.array(z.string())).default([]),
      Metrics: z.array(z.object({ Name: z.string() })).default([]),
    }),
  ),
});

/** What stands in every Powertools line and says nothing here. */
const left = new Set([
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
 * One line that a function printed, for a person: JSON logs become `time function LEVEL message key=value ...`, metrics
 * (embedded metric format) `time function metric name=value dimension=value ...`; anything else stays as it is.
 */
export const logLine = (functionName: string, line: string, now = new Date()): string => {
  const lead = `${now.toISOString().slice(11, 23)} ${functionName}`;
  const parsed = parse(line);
  if (!parsed) return `${lead} ${line}`;
  if ('_aws' in parsed) return `${lead} metric ${pairs(metrics(parsed))}`;
  const { level, message } = parsed;
  if (typeof message !== 'string') return `${lead} ${line}`;
  const others = Object.entries(parsed).filter(([key]) => !left.has(key));
  return [lead, level, message, pairs(others)].filter(Boolean).join(' ');
};

const parse = (line: string): Record<string, unknown> | undefined => {
  if (!line.startsWith('{')) return undefined;
  try {
    return record.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
};

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
