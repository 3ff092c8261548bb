import { type AwsFault, type AwsResponse, type AwsService, jsonFault } from '../aws-service.ts';
import type { Lambda } from './lambda.ts';

/** Creates the Lambda API with synchronous calls of `Invoke` (`POST /2015-03-31/functions/{name}/invocations`). */
export const lambdaService =
  (lambda: Pick<Lambda, 'has' | 'invoke'>): AwsService =>
  async ({ path, headers, body }) => {
    const name = functionName(path);
    const { 'x-amz-invocation-type': type = 'RequestResponse' } = headers;
    const event = body.length === 0 ? '{}' : body.toString();
    if (name === undefined || type !== 'RequestResponse')
      return errorResponse(404, 'UnknownOperationException', 'The local Lambda supports only synchronous Invoke.');
    if (!lambda.has(name)) return errorResponse(404, 'ResourceNotFoundException', `Function not found: ${name}`);
    const { payload, failed, throttled } = await lambda.invoke(name, event);
    if (throttled) return errorResponse(429, 'TooManyRequestsException', 'Rate Exceeded.');
    const errorHeader: Record<string, string> = failed ? { 'x-amz-function-error': 'Unhandled' } : {};
    return {
      status: 200,
      headers: { 'content-type': 'application/json', 'x-amz-executed-version': '$LATEST', ...errorHeader },
      body: payload,
    };
  };

const functionName = (path: string): string | undefined =>
  /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(path)?.[1];

const errorResponse = (status: number, type: AwsFault['type'], message: string): AwsResponse =>
  jsonFault({ status, type, message });
