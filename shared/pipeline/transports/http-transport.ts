import { CircuitOpenError } from '../../adapters/outbound-http/circuit-breaker.ts';
import { type HttpClient, type HttpPost, RequestTimeoutError } from '../../adapters/outbound-http/http-client.ts';
import { BlockedAddressError } from '../../adapters/outbound-http/ssrf-safe-lookup.ts';
import { type AttemptOutcome, type Failure, failed } from '../../domain/attempt-outcome.ts';
import { errorCode } from '../../domain/error-code.ts';
import { type HttpType, httpOutcome } from '../../domain/http-outcome.ts';
import { SEND_TIMEOUT_MS } from '../../domain/transport.ts';

/**
 * The outcome of a request that got no answer. Its explanation is for the tester of the notification: it has the error's
 * code and the host that the tester gave, and never an address that a name was resolved to.
 */
const failedRequest = (error: unknown, host: string): Failure => {
  if (error instanceof BlockedAddressError) {
    const explanation = `EGRESS_REFUSED ${host} is, or resolves to, an address that is not public`;
    return failed(error.literal ? 'permanent' : 'transient', 'blocked_address', explanation);
  }
  if (error instanceof RequestTimeoutError) {
    return failed('transient', 'timeout', `ETIMEDOUT ${host} did not answer within ${SEND_TIMEOUT_MS / 1000} s`);
  }
  if (error instanceof CircuitOpenError) {
    const explanation = `EPAUSED ${host} has not answered in time again and again; try again in half a minute`;
    return failed('throttled', 'circuit_open', explanation, {
      countsAsAttempt: false,
      retryAfterMs: error.retryAfterMs,
    });
  }
  const code = errorCode(error);
  return failed('transient', 'network_error', `${code ?? 'ERROR'} while sending to ${host}`, { code });
};

/** Posts and judges what comes back by the rules of the type. Whatever a destination does is an outcome, never an exception. */
export const sendByHttp = async (
  type: HttpType,
  http: HttpClient,
  request: HttpPost,
  /** What to call the other side in an explanation: an address of the operators is not for testers to see. */
  host: string = request.url.host,
): Promise<AttemptOutcome> => {
  try {
    return httpOutcome(type, await http.post(request), Date.now());
  } catch (error) {
    return failedRequest(error, host);
  }
};
