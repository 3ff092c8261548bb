import { createRequire } from 'node:module';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { apiRequest, lambdaContext } from '../../support/api-request.ts';

/* Invokes a handler repeatedly and measures the CPU time. It runs as built JavaScript in its own process. */

/** The message to the invoker: the number of invocations and their request. */
export type Invocations = { count: number; request: Parameters<typeof apiRequest>[0] };

/** The message from the invoker: the CPU time of all invocations, and the last response body. */
export type Invoked = { cpuMs: number; body: string };

type Handler = (event: unknown, context: object) => Promise<APIGatewayProxyStructuredResultV2>;

const [bundle = ''] = process.argv.slice(2);
const { handler }: { handler: Handler } = createRequire(bundle)(bundle);

process.on('message', async ({ count, request }: Invocations) => {
  const event = apiRequest(request);
  let body = '';
  const before = process.cpuUsage();
  for (let invocation = 0; invocation < count; invocation++) {
    // A copy, because a handler may change its event.
    const response = await handler({ ...event }, { ...lambdaContext });
    if (response.statusCode !== 200) throw new Error(`The handler responded ${response.statusCode}: ${response.body}`);
    body = response.body ?? '';
  }
  const { user, system } = process.cpuUsage(before);
  const invoked: Invoked = { cpuMs: (user + system) / 1_000, body };
  process.send?.(invoked);
});
process.send?.('ready');
