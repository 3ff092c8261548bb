import { Logger } from '@aws-lambda-powertools/logger';

/**
 * The one logger. What it is given are ids, outcome codes and status numbers, never bodies, recipients, keys, URLs or an
 * error's own text (design 3, Outbound calls).
 */
export const logger = new Logger({ serviceName: 'notifications' });

/** A code as Node.js and the AWS SDK give it to errors, such as `ECONNREFUSED`: a word, so that no text hides in it. */
const errorCode = /^[A-Za-z][\w.]{0,63}$/;

const codeOf = (error: Error): { code?: string } =>
  'code' in error && typeof error.code === 'string' && errorCode.test(error.code) ? { code: error.code } : {};

/** What may be logged of an error: its class, its code and where it was thrown, not its text. */
export const errorTrace = (error: unknown): { error: string; code?: string; at: string[] } => {
  if (!(error instanceof Error)) return { error: typeof error, at: [] };
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return { error: error.name, ...codeOf(error), at: frames.slice(0, 8).map((line) => line.trim()) };
};
