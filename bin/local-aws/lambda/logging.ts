import { z } from 'zod';
import { parseLogLine } from './log-line.ts';

/** The logging configuration of a function: the JSON format, with the default level of the application. */
export const loggingConfig = z.object({
  LogFormat: z.literal('JSON'),
  ApplicationLogLevel: z.undefined().optional(),
  SystemLogLevel: z.literal('WARN'),
});

/**
 * Returns whether CloudWatch Logs stores a line that a function prints: Lambda drops lines below INFO, and a line without
 * a level is INFO (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
 */
export const isStored = (line: string): boolean => !/^(trace|debug)$/i.test(String(parseLogLine(line)?.level));

/** A failed invocation as Lambda reports it. */
export type FailedInvocation = { requestId: string; durationMs: number; errorType: string };

const statusOf = ({ errorType }: FailedInvocation): 'timeout' | 'failure' | 'error' => {
  if (errorType === 'Sandbox.Timedout') return 'timeout';
  return errorType.startsWith('Runtime.') ? 'failure' : 'error';
};

/** Returns the line that Lambda logs at the end of a failed invocation. Below WARN, it logs nothing after success. */
export const reportLine = (invocation: FailedInvocation, time: Date): string => {
  const { requestId, durationMs } = invocation;
  return JSON.stringify({
    time: time.toISOString(),
    type: 'platform.report',
    record: { requestId, metrics: { durationMs }, status: statusOf(invocation) },
  });
};
