/**
 * How every AWS client of ours waits (design 3, Claim): 1 s to connect, 3 s for an answer, so that a stuck dependency
 * costs less than a function's timeout.
 */
export const awsConfig = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
};
