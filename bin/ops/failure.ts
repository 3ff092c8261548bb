/** A failure whose message is the complete explanation. The command exits with 1. */
export class Failure extends Error {
  override name = 'Failure';
}

/** A command with invalid arguments. It exits with 2. */
export class UsageFailure extends Error {
  override name = 'UsageFailure';
}

/** Returns the first line of an error message, after the name of the error unless that is generic. */
export const errorSummary = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const text = messageOf(error).split('\n', 1)[0]?.trim() ?? '';
  const hasGenericName = error instanceof Failure || error instanceof UsageFailure || error.name === 'Error';
  return hasGenericName ? text : `${error.name}: ${text || 'no message.'}`;
};

/** A connection that fails to every address of a host is an AggregateError with an empty message. */
const messageOf = (error: Error): string => {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join(', ');
  }
  return error.message;
};
