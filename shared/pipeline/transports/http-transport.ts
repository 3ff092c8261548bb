import { CircuitOpenError } from '../../adapters/outbound-http/circuit-breaker.ts';
import { type HttpClient, type HttpPost, RequestTimeoutError } from '../../adapters/outbound-http/http-client.ts';
import { BlockedAddressError } from '../../adapters/outbound-http/ssrf-safe-lookup.ts';
import { type AttemptOutcome, type Failure, failed } from '../../domain/attempt-outcome.ts';
import { errorCode, networkErrorText } from '../../domain/failure-text.ts';
import { isHeartbeat } from '../../domain/heartbeat.ts';
import { type HttpResponses, httpOutcome } from '../../domain/http-outcome.ts';
import { responseText } from '../../domain/response-text.ts';
import { SEND_TIMEOUT_MS, sendTimeoutMs } from '../../domain/timeouts.ts';
import type { Alert } from '../../domain/transport.ts';

/** The explanation is the message of a test: it names the cause and the host, never an IP address it resolves to. */
const failedRequest = (error: unknown, host: string): Failure => {
  if (error instanceof BlockedAddressError) {
    const explanation = `${host} is, or resolves to, an address that is not public`;
    return failed(error.literal ? 'permanent' : 'transient', 'blocked_address', explanation);
  }
  if (error instanceof RequestTimeoutError) {
    return failed('transient', 'timeout', `${host} did not respond within ${SEND_TIMEOUT_MS / 1000} s`);
  }
  if (error instanceof CircuitOpenError) {
    const explanation = `The circuit of ${host} is open`;
    return failed('throttled', 'circuit_open', explanation, {
      countsAsAttempt: false,
      retryAfterMs: error.retryAfterMs,
    });
  }
  const code = errorCode(error);
  return failed('transient', 'network_error', `Sending to ${host} failed: ${networkErrorText(code)}`, { code });
};

/** The parts of a request that a type sets, and the secrets in it that a failed response may repeat. */
export type TypeRequest = Pick<HttpPost, 'url' | 'headers' | 'body' | 'readBody'> & { secrets: readonly string[] };

export type OperatorsEndpoint = {
  /** Its name in explanations: tenants must not see its host. */
  name: string;
  /** The statuses that are faults of the endpoint or of its setting, rather than of a tenant's values. */
  faults: RegExp;
};

/** Adds whether the endpoint of the operators failed or cannot be reached, if it was called. */
const ofEndpoint = <T extends AttemptOutcome>(outcome: T, endpoint: OperatorsEndpoint | undefined): T => {
  const { status } = outcome;
  const reason = outcome.result === 'delivered' ? undefined : outcome.reason;
  if (!endpoint || reason === 'circuit_open') return outcome;
  const isUnreachable = reason === 'network_error' || reason === 'timeout';
  return { ...outcome, isEndpointFailure: isUnreachable || endpoint.faults.test(String(status)) };
};

/** Its credentials, and its host and path unless tenants may see them. */
export const secretsIn = (
  { username, password, host, hostname, pathname, search }: URL,
  isHidden: boolean,
): string[] => {
  const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  const authorization = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
  const path = [pathname, search].filter(({ length }) => length > 1);
  // Without a password, the user is an API key.
  const credentials = username === '' && password === '' ? [] : [authorization, secret || user];
  return [...credentials, ...(isHidden ? [host, hostname, ...path] : [])];
};

/**
 * Sends an alert with one request and the headers of its trace. Tests, which have no notification ID, and heartbeats
 * have no circuit: failing alerts must not affect them. `endpoint`: of the operators. @throws NoTimeLeftError
 */
export const sendByHttp = async (
  responses: HttpResponses,
  http: HttpClient,
  alert: Pick<Alert, 'event' | 'trace' | 'notificationId' | 'mayHaveArrived' | 'timeLeft'>,
  { secrets, ...request }: TypeRequest,
  endpoint?: OperatorsEndpoint,
): Promise<AttemptOutcome> => {
  const { event, trace, notificationId, timeLeft } = alert;
  const headers = { ...request.headers, ...trace?.headers };
  const circuitTenant = notificationId === undefined || isHeartbeat(event) ? undefined : event.tenant_id;
  const timeoutMs = sendTimeoutMs(timeLeft);
  try {
    const response = await http.post({ ...request, headers, timeoutMs, circuitTenant });
    const outcome = ofEndpoint(httpOutcome(responses, response, Date.now(), alert), endpoint);
    if (outcome.result === 'delivered') return outcome;
    const hidden = [...secrets, ...secretsIn(request.url, endpoint !== undefined)];
    return { ...outcome, responseText: responseText(response.body, hidden) };
  } catch (error) {
    return ofEndpoint(failedRequest(error, endpoint?.name ?? request.url.host), endpoint);
  }
};
