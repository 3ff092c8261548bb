import { z } from 'zod';
import { parseLogLine } from './log-line.ts';

/** The log levels of Lambda, most detailed first. */
const levels = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const;

type Level = (typeof levels)[number];

/** The logging configuration of a function, with the defaults of Lambda. */
export const loggingConfig = z
  .object({
    LogFormat: z.enum(['Text', 'JSON']).default('Text'),
    ApplicationLogLevel: z.enum(levels).default('INFO'),
    SystemLogLevel: z.enum(['DEBUG', 'INFO', 'WARN']).default('INFO'),
  })
  .default({ LogFormat: 'Text', ApplicationLogLevel: 'INFO', SystemLogLevel: 'INFO' });

/** The logging configuration of a function. */
export type LoggingConfig = z.infer<typeof loggingConfig>;

const isAtLeast = (level: Level, minimum: Level): boolean => levels.indexOf(level) >= levels.indexOf(minimum);

const levelOfLine = z.object({ level: z.string().toUpperCase().pipe(z.enum(levels)) });

/**
 * Returns whether CloudWatch Logs stores a line that a function prints. With the JSON format, Lambda drops lines below
 * the level of the application; a line without a level is INFO:
 * https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
 */
export const isStored = (line: string, { LogFormat, ApplicationLogLevel }: LoggingConfig): boolean =>
  LogFormat === 'Text' ||
  isAtLeast(levelOfLine.safeParse(parseLogLine(line)).data?.level ?? 'INFO', ApplicationLogLevel);

/** An invocation as Lambda reports it. */
export type InvocationSummary = { requestId: string; durationMs: number; failure?: { errorType: string } };

const statusOf = ({ failure }: InvocationSummary): 'success' | 'timeout' | 'failure' | 'error' => {
  if (failure === undefined) return 'success';
  if (failure.errorType === 'Sandbox.Timedout') return 'timeout';
  return failure.errorType.startsWith('Runtime.') ? 'failure' : 'error';
};

/**
 * Returns the line that Lambda logs at the end of an invocation in the JSON format, or undefined if its level is too
 * low: INFO after success, otherwise WARN.
 */
export const reportLine = (
  invocation: InvocationSummary,
  { LogFormat, SystemLogLevel }: LoggingConfig,
  time: Date,
): string | undefined => {
  const status = statusOf(invocation);
  if (LogFormat === 'Text' || !isAtLeast(status === 'success' ? 'INFO' : 'WARN', SystemLogLevel)) return undefined;
  const { requestId, durationMs } = invocation;
  return JSON.stringify({
    time: time.toISOString(),
    type: 'platform.report',
    record: { requestId, metrics: { durationMs }, status },
  });
};
