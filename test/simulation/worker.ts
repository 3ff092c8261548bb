import { z } from 'zod';
import { buildService, type Mutation, type ServiceCode } from './engine/service-code.ts';
import { prepareProcess, runSeed } from './simulation.ts';

/* A process that runs seeds for `workers.ts`, one at a time. It gets the file of the template as its argument. */

const messageSchema = z.object({
  mutations: z.array(z.object({ file: z.string(), find: z.string(), replace: z.string() })),
  request: z.object({
    seed: z.union([z.number(), z.string()]),
    steps: z.number().optional(),
    isSerialized: z.boolean().optional(),
    isTraced: z.boolean().optional(),
  }),
});

const plan = prepareProcess(process.argv[2] ?? '');
let built: { mutations: string; code: Promise<ServiceCode> } | undefined;

/** Returns the service with these mutations, which is built again only if they differ from those of the last request. */
const serviceWith = (mutations: readonly Mutation[]): Promise<ServiceCode> => {
  const text = JSON.stringify(mutations);
  if (built?.mutations !== text) built = { mutations: text, code: buildService(mutations) };
  return built.code;
};

process.on('message', async (message) => {
  try {
    const { request, mutations } = messageSchema.parse(message);
    const result = await runSeed(request, await serviceWith(mutations), plan);
    process.send?.({ result, peakMb: Math.round(process.resourceUsage().maxRSS / 1024) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on('disconnect', () => process.exit());
