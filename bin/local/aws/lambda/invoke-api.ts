import { type AwsFault, type AwsResponse, type AwsService, jsonFault } from '../aws-service.ts';
import type { Lambda } from './lambda.ts';
import { MAX_PAYLOAD_BYTES } from './pool.ts';

/** An asynchronous invoke takes 1 MiB. */
const MAX_EVENT_BYTES = 1024 * 1024;

/** `POST /2015-03-31/functions/{name}/invocations`: the one action of Lambda that functions use on each other. */
export const lambdaService =
  (lambda: Lambda): AwsService =>
  async ({ path, headers, body }) => {
    const name = functionName(path);
    const type = headers['x-amz-invocation-type'] ?? 'RequestResponse';
    const event = body.length === 0 ? '{}' : body.toString();
    const limit = type === 'Event' ? MAX_EVENT_BYTES : MAX_PAYLOAD_BYTES;
    if (name === undefined) return fault(404, 'UnknownOperationException', 'Only Invoke is served here.');
    if (!lambda.has(name)) return fault(404, 'ResourceNotFoundException', `Function not found: ${name}`);
    if (body.length > limit) {
      return fault(
        413,
        'RequestTooLargeException',
        `${body.length} byte payload is too large; the limit is ${limit} bytes.`,
      );
    }
    if (!isJson(event)) {
      return fault(400, 'InvalidRequestContentException', 'Could not parse request body into json.');
    }
    if (type === 'DryRun') return { status: 204, headers: {}, body: '' };
    if (type === 'Event') {
      void lambda.invoke(name, event);
      return { status: 202, headers: {}, body: '' };
    }
    const { payload, failed, throttled } = await lambda.invoke(name, event);
    if (throttled) return fault(429, 'TooManyRequestsException', 'Rate Exceeded.');
    const failure: Record<string, string> = failed ? { 'x-amz-function-error': 'Unhandled' } : {};
    return {
      status: 200,
      headers: { 'content-type': 'application/json', 'x-amz-executed-version': '$LATEST', ...failure },
      body: payload,
    };
  };

/** The name in the path, which may also be an ARN and carry a version or alias. */
const functionName = (path: string): string | undefined => {
  const given = /^\/2015-03-31\/functions\/([^/]+)\/invocations(\?|$)/.exec(path)?.[1];
  if (given === undefined) return undefined;
  const parts = decodeURIComponent(given).split(':');
  const after = parts.indexOf('function');
  return after < 0 ? parts[0] : parts[after + 1];
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const fault = (status: number, type: AwsFault['type'], message: string): AwsResponse =>
  jsonFault({ status, type, message });
