import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/*
 * Loads a bundle as the Lambda runtime does, invokes it once, and sends the monotonic time of the return. It is built
 * to JavaScript first, because Lambda does not strip types.
 */

/** The monotonic time in ns, and the result of the handler. */
export type FirstReturn = { atNs: string; result: unknown };

const [bundle = '', eventFile = ''] = process.argv.slice(2);
const event: unknown = JSON.parse(readFileSync(eventFile, 'utf8'));
const context = { awsRequestId: 'invocation', functionName: 'function', getRemainingTimeInMillis: () => 30_000 };
const { handler }: { handler: (event: unknown, context: object) => Promise<unknown> } = createRequire(bundle)(bundle);

handler(event, context).then((result = null) => {
  const message: FirstReturn = { atNs: String(process.hrtime.bigint()), result };
  process.send?.(message, () => process.exit());
});
