/**
 * The endpoint of a local AWS. fauxqs, LocalStack and MiniStack do not combine a clock that tests can move, fault
 * injection, the deployed bundles, and Node.js as the only dependency. Nothing in this folder depends on the service
 * that runs on it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AwsCall,
  type AwsFault,
  type AwsResponse,
  type AwsService,
  jsonFault,
  LOCAL_ENV,
  xmlFault,
} from './aws-service.ts';
import { calledOperation } from './called-operation.ts';
import { credentialScopeFault, readCredentialScope } from './credential-scope.ts';
import { BodyTooLargeError, readBody } from './http.ts';
import { foreignPageRefusal } from './loopback-refusal.ts';

/**
 * The endpoint applies the call and delays its response by `delayMs` of real time; with `Infinity` it never responds.
 */
export type LateResponse = {
  response: 'late';
  delayMs: number;
};

/** The endpoint applies the call and closes the connection without a response. */
export type LostResponse = {
  response: 'lost';
};

/** Returns the fault to inject into a call: an error instead of the call, or a late or lost response. */
export type Fault = (call: AwsCall) => AwsFault | LateResponse | LostResponse | undefined;

/** The local AWS endpoint. Set its services before use. */
export type Endpoint = {
  server: Server;
  services: Map<string, AwsService>;
  /** The number of calls, by `<caller> <service>.<action>`. */
  calls: Map<string, number>;
  fault: Fault;
};

/** DynamoDB has the largest requests: 16 MiB. */
const MAX_BODY_BYTES = 16 * 1024 * 1024 + 1024;

/**
 * Creates one address for all AWS services, for any SDK or `aws --endpoint-url`. It refuses signatures for another
 * service or region, as AWS does, without verifying them, and requests of pages in a browser.
 */
export const createEndpoint = (): Endpoint => {
  const endpoint: Endpoint = {
    server: createServer((request, response) => void respond(endpoint, request, response)),
    services: new Map(),
    calls: new Map(),
    fault: () => undefined,
  };
  endpoint.server.keepAliveTimeout = 60_000;
  return endpoint;
};

const respond = async (endpoint: Endpoint, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const refusal = foreignPageRefusal(request.headers);
  if (refusal !== undefined) {
    return write(response, jsonFault({ status: 403, type: 'AccessDeniedException', message: refusal }));
  }
  const result = await run(endpoint, request, response).catch(errorResponse);
  if (result === 'lost') response.destroy();
  else if (result !== 'never') write(response, result);
};

const errorResponse = (error: unknown): AwsResponse =>
  jsonFault(
    error instanceof BodyTooLargeError
      ? { status: 413, type: 'RequestEntityTooLarge', message: 'The request is too large.' }
      : { status: 500, type: 'InternalFailure', message: String(error) },
  );

const write = (response: ServerResponse, { status, headers, body }: AwsResponse): void => {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
};

/**
 * Runs a call. Resolves when its response is due: to the response, `lost` (close the connection) or `never` (do not
 * respond).
 */
const run = async (
  endpoint: Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AwsResponse | 'lost' | 'never'> => {
  const body = await readBody(request, MAX_BODY_BYTES);
  const headers = headersOf(request);
  const path = request.url ?? '/';
  const signed = readCredentialScope(headers.authorization);
  const { protocol, action, service = signed.service } = calledOperation(headers['x-amz-target'], path, body);
  const fault = credentialScopeFault(signed, { service, protocol, region: LOCAL_ENV.region });
  if (fault) return protocol === 'query' ? xmlFault(fault) : jsonFault(fault);
  let signal: AbortSignal | undefined;
  return callEndpoint(endpoint, {
    service,
    action,
    caller: signed.accessKey,
    path,
    headers,
    body,
    get signal() {
      signal ??= disconnectSignal(response);
      return signal;
    },
  });
};

/** Makes a call without a connection, with the faults of the endpoint. Resolves as `run` does, and never rejects. */
export const callEndpoint = async (endpoint: Endpoint, call: AwsCall): Promise<AwsResponse | 'lost' | 'never'> => {
  const counter = `${call.caller} ${call.service}.${call.action}`;
  endpoint.calls.set(counter, (endpoint.calls.get(counter) ?? 0) + 1);
  const usesXml = call.service === 'sns' || call.service === 'ses';
  const fault = endpoint.fault(call);
  if (fault && 'status' in fault) return usesXml ? xmlFault(fault) : jsonFault(fault);
  const result = await serve(endpoint, call).catch(errorResponse);
  if (!fault) return result;
  if (fault.response === 'lost') return 'lost';
  if (!Number.isFinite(fault.delayMs)) return 'never';
  await sleep(fault.delayMs, undefined, { ref: false });
  return result;
};

const serve = async (endpoint: Endpoint, call: AwsCall): Promise<AwsResponse> => {
  const service = endpoint.services.get(call.service);
  if (service) return service(call);
  return jsonFault({
    status: 400,
    type: 'UnknownOperationException',
    message: `The local endpoint has no service for ${call.path} (${call.service || 'unsigned'} ${call.action}).`,
  });
};

const headersOf = ({ headers }: IncomingMessage): Record<string, string> => {
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return Object.fromEntries(entries);
};

const disconnectSignal = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
};
