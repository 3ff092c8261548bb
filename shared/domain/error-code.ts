/**
 * An error code of Node.js or the AWS SDK, such as `ECONNREFUSED`. It excludes free text, which may be confidential.
 */
const CODE = /^[A-Za-z][\w.]{0,63}$/;

/** Returns the code of an error, if it has one. It is safe to log. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && CODE.test(error.code)
    ? error.code
    : undefined;
