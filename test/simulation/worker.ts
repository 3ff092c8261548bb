import { z } from 'zod';
import { createSimulation } from './simulation.ts';

/*
 * A process that makes runs for `workers.ts`: it gets the template and the mutations as its argument, and a request for
 * each run.
 */

const mutation = z.object({ file: z.string(), find: z.string(), replace: z.string() });
const options = z.object({ template: z.string(), mutations: z.array(mutation) });
const request = z.object({
  seed: z.union([z.number(), z.string()]),
  steps: z.number().optional(),
  isTraced: z.boolean().optional(),
});

const { template, mutations } = options.parse(JSON.parse(process.argv[2] ?? '{}'));
const simulation = createSimulation(template, mutations);

process.on('message', async (message) => {
  const { seed, ...rest } = request.parse(message);
  try {
    const run = await simulation;
    process.send?.({ result: await run({ seed, ...rest }), peakMb: Math.round(process.resourceUsage().maxRSS / 1024) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on('disconnect', () => process.exit());
