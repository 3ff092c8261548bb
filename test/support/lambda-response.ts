/** The maximum size of a response of a function that is invoked synchronously. */
export const LAMBDA_LIMIT_BYTES = 6 * 1024 * 1024;

/** Returns the size of a response as Lambda returns it, with the body as a JSON string. */
export const lambdaBytes = (response: unknown): number => Buffer.byteLength(JSON.stringify(response));
