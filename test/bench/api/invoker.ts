import { createRequire } from 'node:module';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { apiRequest, lambdaContext } from '../../support/api-request.ts';

/*
 * Invokes a handler of the API, or something beside it, again and again, and tells the CPU that this took. It runs as built
 * JavaScript in a process of its own.
 */

/** What the invoker is told: how often, and for which request. */
export type Invocations = { amount: number; request: Parameters<typeof apiRequest>[0] };

/** What it tells: CPU of the process in ms, for all invocations, and the body of the last answer. */
export type Invoked = { cpu: number; body: string };

type Handler = (event: unknown, context: object) => Promise<APIGatewayProxyStructuredResultV2>;

const [bundle = ''] = process.argv.slice(2);
const { handler }: { handler: Handler } = createRequire(bundle)(bundle);

process.on('message', async ({ amount, request }: Invocations) => {
  const event = apiRequest(request);
  let body = '';
  const before = process.cpuUsage();
  for (let count = 0; count < amount; count++) {
    // The runtime of Lambda parses, too, but a handler may do with its event what it likes.
    const answer = await handler({ ...event }, { ...lambdaContext });
    if (answer.statusCode !== 200) throw new Error(`The handler answered ${answer.statusCode}: ${answer.body}`);
    body = answer.body ?? '';
  }
  const { user, system } = process.cpuUsage(before);
  const invoked: Invoked = { cpu: (user + system) / 1_000, body };
  process.send?.(invoked);
});
process.send?.('ready');
