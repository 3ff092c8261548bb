import { type AwsFault, type AwsResponse, type AwsService, jsonFault } from '../aws-service.ts';
import type { Lambda } from './lambda.ts';
import { MAX_PAYLOAD_BYTES } from './sandbox-pool.ts';

/** The maximum payload of an asynchronous invocation. */
const MAX_EVENT_BYTES = 1024 * 1024;

/** Creates the Lambda API with its action `Invoke` (`POST /2015-03-31/functions/{name}/invocations`). */
export const lambdaService =
  (lambda: Lambda): AwsService =>
  async ({ path, headers, body }) => {
    const name = functionName(path);
    const type = headers['x-amz-invocation-type'] ?? 'RequestResponse';
    const event = body.length === 0 ? '{}' : body.toString();
    const limit = type === 'Event' ? MAX_EVENT_BYTES : MAX_PAYLOAD_BYTES;
    if (name === undefined)
      return errorResponse(404, 'UnknownOperationException', 'The local Lambda supports only Invoke.');
    if (!lambda.has(name)) return errorResponse(404, 'ResourceNotFoundException', `Function not found: ${name}`);
    if (body.length > limit) {
      return errorResponse(
        413,
        'RequestTooLargeException',
        `${body.length} byte payload is too large; the limit is ${limit} bytes.`,
      );
    }
    if (!isJson(event)) {
      return errorResponse(400, 'InvalidRequestContentException', 'Could not parse request body into json.');
    }
    if (type === 'DryRun') return { status: 204, headers: {}, body: '' };
    if (type === 'Event') {
      void lambda.invoke(name, event);
      return { status: 202, headers: {}, body: '' };
    }
    const { payload, failed, throttled } = await lambda.invoke(name, event);
    if (throttled) return errorResponse(429, 'TooManyRequestsException', 'Rate Exceeded.');
    const errorHeader: Record<string, string> = failed ? { 'x-amz-function-error': 'Unhandled' } : {};
    return {
      status: 200,
      headers: { 'content-type': 'application/json', 'x-amz-executed-version': '$LATEST', ...errorHeader },
      body: payload,
    };
  };

/** Returns the function name in the path, which may be an ARN and may include a version or alias. */
const functionName = (path: string): string | undefined => {
  const identifier = /^\/2015-03-31\/functions\/([^/]+)\/invocations(\?|$)/.exec(path)?.[1];
  if (identifier === undefined) return undefined;
  const parts = decodeURIComponent(identifier).split(':');
  const index = parts.indexOf('function');
  return index < 0 ? parts[0] : parts[index + 1];
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const errorResponse = (status: number, type: AwsFault['type'], message: string): AwsResponse =>
  jsonFault({ status, type, message });
