/** An error that the user can fix. Its message is sufficient, so it is shown without a stack trace. */
export class StartError extends Error {
  override name = 'StartError';
}
