/** A code as Node.js and the AWS SDK give it to errors, such as `ECONNREFUSED`: a word, so that no text hides in it. */
const pattern = /^[A-Za-z][\w.]{0,63}$/;

/** The code of an error, such as that of a connection which failed; undefined where it has none. Safe to be logged. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && pattern.test(error.code)
    ? error.code
    : undefined;
