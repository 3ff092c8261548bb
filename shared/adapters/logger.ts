import { channel } from 'node:diagnostics_channel';
import { Logger } from '@aws-lambda-powertools/logger';
import { errorCode } from '../domain/failure-text.ts';

type LogFields = Readonly<Record<string, unknown>>;

let created: Logger | undefined;
const powertools = (): Logger => {
  created ??= new Logger({ serviceName: 'notifications', persistentKeys: { release: process.env.RELEASE } });
  return created;
};

const keys: Record<string, unknown> = {};

/**
 * Fields are IDs, outcome codes and status numbers (docs/decisions/monitoring.md#what-is-logged). The logger of
 * Powertools is created for the first line: it takes 3 ms of a cold start.
 */
export const logger = {
  appendKeys: (fields: LogFields): void => {
    Object.assign(keys, fields);
  },
  info: (message: string, fields: LogFields = {}): void => powertools().info(message, { ...keys, ...fields }),
  warn: (message: string, fields: LogFields = {}): void => powertools().warn(message, { ...keys, ...fields }),
  error: (message: string, fields: LogFields = {}): void => powertools().error(message, { ...keys, ...fields }),
};

/** The first eight frames of an error of the AWS SDK are its own, which would leave two of the ten that V8 records. */
Error.stackTraceLimit = 20;

/** A stack frame as V8 formats it: it ends with a position, or with what V8 writes for code without one. */
const FRAME = /^ {4}at .*(:\d+:\d+|:0x[\da-f]+|<anonymous>|\(native|\(index \d+)\)?$/;

/** Returns the fields of an error that may be logged: its class, code and stack frames, but not its message. */
export const errorTrace = (error: unknown): { error: string; code?: string; at: string[] } => {
  tracedErrors.publish(error);
  if (!(error instanceof Error)) return { error: typeof error, at: [] };
  const code = errorCode(error);
  // A line of the message can look like a frame. The stack has the earlier message if it was read before a change.
  const stack = error.stack?.replace(error.message, '') ?? '';
  const frames = stack.split('\n').filter((line) => FRAME.test(line));
  return { error: error.name, ...(code !== undefined && { code }), at: frames.map((line) => line.trim()) };
};

export const TRACED_ERRORS = 'monitoring-notifications.traced-error';

/** Every error that is logged without its message. The local stack subscribes from outside the bundle and prints it. */
export const tracedErrors = channel(TRACED_ERRORS);
