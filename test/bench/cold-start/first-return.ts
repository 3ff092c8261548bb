import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/*
 * Loads a bundle as the runtime of Lambda does, invokes it once, and tells the machine's monotonic time of the return. Built to
 * JavaScript before it runs, so that a fresh process does nothing that Lambda would not.
 */

/** What it tells: nanoseconds, and what the handler returned. */
export type FirstReturn = { at: string; result: unknown };

const [bundle = '', eventFile = ''] = process.argv.slice(2);
const event: unknown = JSON.parse(readFileSync(eventFile, 'utf8'));
const context = { awsRequestId: 'invocation', functionName: 'function', getRemainingTimeInMillis: () => 30_000 };
const { handler }: { handler: (event: unknown, context: object) => Promise<unknown> } = createRequire(bundle)(bundle);

handler(event, context).then((result = null) => {
  const told: FirstReturn = { at: String(process.hrtime.bigint()), result };
  process.send?.(told, () => process.exit());
});
