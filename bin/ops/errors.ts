import { explainAwsError } from './aws-errors.ts';

/** An expected error whose message is a complete explanation. The command exits with 1. */
export class OperationError extends Error {
  override name = 'OperationError';
}

/** Invalid arguments. The command exits with 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/**
 * Returns what to do about an error of the AWS SDK, or else the first line of the error's message, prefixed with the
 * name of the error unless that is generic.
 */
export const errorSummary = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const text = messageOf(error).split('\n', 1)[0]?.trim() ?? '';
  if (error instanceof OperationError || error instanceof UsageError) return text;
  const explanation = explainAwsError(error);
  if (explanation !== undefined) return explanation;
  return error.name === 'Error' ? text : `${error.name}: ${text || 'no message.'}`;
};

/** A connection that fails to every address of a host is an AggregateError with an empty message. */
const messageOf = (error: Error): string => {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join(', ');
  }
  return error.message;
};
