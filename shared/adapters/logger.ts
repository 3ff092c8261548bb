import { Logger } from '@aws-lambda-powertools/logger';
import { errorCode } from '../domain/error-code.ts';

/**
 * The one logger. What it is given are ids, outcome codes and status numbers, never bodies, recipients, keys, URLs or an
 * error's own text (design 3, Outbound calls).
 */
export const logger = new Logger({ serviceName: 'notifications' });

/** What may be logged of an error: its class, its code and where it was thrown, not its text. */
export const errorTrace = (error: unknown): { error: string; code?: string; at: string[] } => {
  if (!(error instanceof Error)) return { error: typeof error, at: [] };
  const code = errorCode(error);
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return { error: error.name, ...(code !== undefined && { code }), at: frames.slice(0, 8).map((line) => line.trim()) };
};
