import { Logger } from '@aws-lambda-powertools/logger';
import { errorCode } from '../domain/error-code.ts';

/**
 * The logger of all functions. Log fields are IDs, outcome codes and status numbers, never bodies, recipients, keys,
 * URLs or error messages (DECISIONS.md#what-is-logged).
 */
export const logger = new Logger({ serviceName: 'notifications' });

/** Returns the fields of an error that may be logged: its class, code and stack frames, but not its message. */
export const errorTrace = (error: unknown): { error: string; code?: string; at: string[] } => {
  if (!(error instanceof Error)) return { error: typeof error, at: [] };
  const code = errorCode(error);
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return { error: error.name, ...(code !== undefined && { code }), at: frames.slice(0, 8).map((line) => line.trim()) };
};
