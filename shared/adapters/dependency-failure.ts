import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';

type SdkError = Parameters<typeof isTransientError>[0];

const isSdkError = (error: unknown): error is SdkError =>
  error instanceof Error && (error.cause === undefined || error.cause instanceof Error);

/** True where a dependency throttled us, failed, or could not be reached, as the AWS SDK classifies its errors. */
export const isDependencyFailure = (error: unknown): boolean =>
  isSdkError(error) && (isThrottlingError(error) || isTransientError(error) || isServerError(error));

/** True where a dependency throttled us, as the AWS SDK classifies its errors. */
export const isThrottled = (error: unknown): boolean => isSdkError(error) && isThrottlingError(error);
