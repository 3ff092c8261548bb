/** What could not be done: its message is the whole explanation. The command ends with 1. */
export class Failure extends Error {
  override name = 'Failure';
}

/** A command that was not well asked for; it ends with 2. */
export class UsageFailure extends Error {
  override name = 'UsageFailure';
}

/** An error in one sentence: the first line of what it says, after its name where that tells more. */
export function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = messageOf(error).split('\n', 1)[0]?.trim() ?? '';
  const hasPlainName = error instanceof Failure || error instanceof UsageFailure || error.name === 'Error';
  return hasPlainName ? text : `${error.name}: ${text || 'there is no explanation.'}`;
}

/** A connection that fails to every address of a host says nothing itself. */
function messageOf(error: Error): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((one) => (one instanceof Error ? one.message : String(one))).join(', ');
  }
  return error.message;
}
