import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AwsAnswer, type AwsCall, type AwsFault, type AwsService, jsonFault, xmlFault } from './aws-service.ts';
import { BodyTooLargeError, readBody } from './http.ts';

/** The call is applied, and its response is sent `delayMs` later, in real time; with `Infinity` never. */
export interface LateResponse {
  response: 'late';
  delayMs: number;
}

/** The call is applied, and the connection is closed without a response. */
export interface LostResponse {
  response: 'lost';
}

/** What a test injects into a call: an error without applying it, or what happens to its response; undefined for nothing. */
export type Fault = (call: AwsCall) => AwsFault | LateResponse | LostResponse | undefined;

/** The local AWS endpoint, to be given its services. */
export interface Endpoint {
  server: Server;
  services: Map<string, AwsService>;
  /** Calls answered so far, by `<caller> <service>.<action>`: what a Lambda costs in requests. */
  calls: Map<string, number>;
  /** Makes chosen calls fail, or their responses late or lost. */
  fault: Fault;
}

/** DynamoDB takes the largest requests: 16 MiB. */
const maximumBytes = 16 * 1024 * 1024 + 1024;

/** One address for all AWS services: any SDK or `aws --endpoint-url` can use it. Signatures are not checked. */
export function createEndpoint(): Endpoint {
  const endpoint: Endpoint = {
    server: createServer((request, response) => void answer(endpoint, request, response)),
    services: new Map(),
    calls: new Map(),
    fault: () => undefined,
  };
  endpoint.server.keepAliveTimeout = 60_000;
  return endpoint;
}

async function answer(endpoint: Endpoint, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const result = await run(endpoint, request, response).catch(failure);
  if (result === 'lost') response.destroy();
  else if (result !== 'never') write(response, result);
}

function failure(error: unknown): AwsAnswer {
  return jsonFault(
    error instanceof BodyTooLargeError
      ? { status: 413, type: 'RequestEntityTooLarge', message: 'The request is too large.' }
      : { status: 500, type: 'InternalFailure', message: String(error) },
  );
}

function write(response: ServerResponse, { status, headers, body }: AwsAnswer): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** The answer to a call when it is time to send it, or what becomes of it instead. */
async function run(
  endpoint: Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AwsAnswer | 'lost' | 'never'> {
  const body = await readBody(request, maximumBytes);
  const call = describe(request, response, body);
  const counter = `${call.caller} ${call.service}.${call.action}`;
  endpoint.calls.set(counter, (endpoint.calls.get(counter) ?? 0) + 1);
  const speaksXml = call.service === 'sns' || call.service === 'ses';
  const fault = endpoint.fault(call);
  if (fault && 'status' in fault) return speaksXml ? xmlFault(fault) : jsonFault(fault);
  const result = await serve(endpoint, call, request);
  if (!fault) return result;
  if (fault.response === 'lost') return 'lost';
  if (!Number.isFinite(fault.delayMs)) return 'never';
  await sleep(fault.delayMs, undefined, { ref: false });
  return result;
}

async function serve(endpoint: Endpoint, call: AwsCall, { method }: IncomingMessage): Promise<AwsAnswer> {
  const service = endpoint.services.get(call.service);
  if (service) return service(call);
  return jsonFault({
    status: 400,
    type: 'UnknownOperationException',
    message: `The local endpoint has no service for ${method} ${call.path} (${call.service || 'unsigned'} ${call.action}).`,
  });
}

/** What the call is: by its target header, by its path, or by the service that its signature names. */
function describe(request: IncomingMessage, response: ServerResponse, body: Buffer): AwsCall {
  const [caller, signedService] = credential(request.headers.authorization);
  const path = request.url ?? '/';
  let signal: AbortSignal | undefined;
  return {
    ...operation(request, path, signedService, body),
    caller,
    path,
    headers: plain(request),
    body,
    get signal() {
      signal ??= hangUp(response);
      return signal;
    },
  };
}

const targets = new Map([
  ['DynamoDB_20120810', 'dynamodb'],
  ['AmazonSQS', 'sqs'],
]);

function operation(request: IncomingMessage, path: string, signed: string, body: Buffer) {
  const target = request.headers['x-amz-target'];
  if (typeof target === 'string') {
    const [api = '', action = ''] = target.split('.');
    return { service: targets.get(api) ?? api, action };
  }
  if (path.startsWith('/2015-03-31/functions/')) return { service: 'lambda', action: 'Invoke' };
  const form = new URLSearchParams(body.toString());
  return { service: signed || serviceOfVersion(form.get('Version')), action: form.get('Action') ?? '' };
}

/** The query protocol names the API only by its version. */
function serviceOfVersion(version: string | null): string {
  return version === '2010-12-01' ? 'ses' : version === '2010-03-31' ? 'sns' : '';
}

/** The access key and service of `Credential=<key>/<date>/<region>/<service>/aws4_request`. */
function credential(authorization = ''): [caller: string, service: string] {
  const [key = '', , , service = ''] = /Credential=([^,\s]*)/.exec(authorization)?.[1]?.split('/') ?? [];
  return [key, service === 'email' ? 'ses' : service];
}

function plain({ headers }: IncomingMessage): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return Object.fromEntries(entries);
}

function hangUp(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
}
