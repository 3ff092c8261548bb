import { z } from 'zod';
import { buildService, type Mutation, type ServiceCode } from './engine/service-code.ts';
import { smallCases } from './exhaustive/cases.ts';
import { explore } from './exhaustive/explore.ts';
import { prepareProcess, runSeed } from './simulation.ts';

/*
 * A process that runs seeds and explores small cases for `workers.ts`, one at a time. It gets the file of the template as
 * its argument.
 */

const seedRequest = z.object({
  seed: z.union([z.number(), z.string()]),
  steps: z.number().optional(),
  isSerialized: z.boolean().optional(),
  isTraced: z.boolean().optional(),
});
const caseRequest = z.object({ smallCase: z.string(), faults: z.number() });
const request = z.object({
  mutations: z.array(z.object({ file: z.string(), find: z.string(), replace: z.string() })),
  task: z.union([seedRequest, caseRequest]),
});

const plan = prepareProcess(process.argv[2] ?? '');
let built: { mutations: string; code: Promise<ServiceCode> } | undefined;

/** Returns the service with these mutations, which is built again only if they differ from those of the last request. */
const serviceWith = (mutations: readonly Mutation[]): Promise<ServiceCode> => {
  const text = JSON.stringify(mutations);
  if (built?.mutations !== text) built = { mutations: text, code: buildService(mutations) };
  return built.code;
};

const exploreNamed = (name: string, faults: number, code: ServiceCode) => {
  const smallCase = smallCases.find((each) => each.name === name);
  if (!smallCase) throw new Error(`There is no case ${name}.`);
  return explore({ smallCase, faults, code, plan });
};

process.on('message', async (message) => {
  try {
    const { task, mutations } = request.parse(message);
    const code = await serviceWith(mutations);
    const result =
      'seed' in task ? await runSeed(task, code, plan) : await exploreNamed(task.smallCase, task.faults, code);
    process.send?.({ result, peakMb: Math.round(process.resourceUsage().maxRSS / 1024) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on('disconnect', () => process.exit());
