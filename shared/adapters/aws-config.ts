import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

/** More than the messages of the largest batch: a call that waits for a socket counts, to the SDK, as one that cannot connect. */
const agent = { maxSockets: 128 };

/**
 * How every AWS client of ours waits (design 3, Claim): 1 s to connect, 3 s for an answer, so that a stuck dependency
 * costs less than a function's timeout.
 */
export const awsConfig = {
  maxAttempts: 3,
  requestHandler: {
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    throwOnRequestTimeout: true,
    httpAgent: agent,
    httpsAgent: agent,
  },
};

/**
 * For calls that must not be repeated behind our back: a mail, a text and a test have no idempotency token. Each takes a new
 * connection, since one that died while the sandbox was frozen would look like a call that failed. Callers give the time that
 * they have: an answer that comes after a time-out would be a second mail.
 */
export const onceConfig = {
  maxAttempts: 1,
  requestHandler: {
    ...awsConfig.requestHandler,
    httpAgent: new HttpAgent({ keepAlive: false }),
    httpsAgent: new HttpsAgent({ keepAlive: false }),
  },
};
