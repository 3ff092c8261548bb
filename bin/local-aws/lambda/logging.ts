import { z } from 'zod';
import { parseLogLine } from './log-line.ts';

/** The logging configuration of a function: the JSON format with the default level of the application. */
export const loggingConfig = z.object({
  LogFormat: z.literal('JSON'),
  ApplicationLogLevel: z.undefined().optional(),
  SystemLogLevel: z.enum(['INFO', 'WARN']).default('INFO'),
});

/** The lowest level of the lines that Lambda itself logs. */
export type SystemLogLevel = z.infer<typeof loggingConfig>['SystemLogLevel'];

/**
 * Returns whether CloudWatch Logs stores a line that a function prints: Lambda drops lines below INFO, and a line without
 * a level is INFO (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
 */
export const isStored = (line: string): boolean => !/^(trace|debug)$/i.test(String(parseLogLine(line)?.level));

/** An invocation as Lambda reports it. */
export type InvocationSummary = { requestId: string; durationMs: number; failure?: { errorType: string } };

const statusOf = ({ failure }: InvocationSummary): 'success' | 'timeout' | 'failure' | 'error' => {
  if (failure === undefined) return 'success';
  if (failure.errorType === 'Sandbox.Timedout') return 'timeout';
  return failure.errorType.startsWith('Runtime.') ? 'failure' : 'error';
};

/**
 * Returns the line that Lambda logs at the end of an invocation, or undefined if its level is too low: INFO after
 * success, otherwise WARN.
 */
export const reportLine = (invocation: InvocationSummary, level: SystemLogLevel, time: Date): string | undefined => {
  const status = statusOf(invocation);
  if (status === 'success' && level === 'WARN') return undefined;
  const { requestId, durationMs } = invocation;
  return JSON.stringify({
    time: time.toISOString(),
    type: 'platform.report',
    record: { requestId, metrics: { durationMs }, status },
  });
};
