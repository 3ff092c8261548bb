import { z } from 'zod';
import { loadService } from '../simulation.ts';
import { smallCases } from './cases.ts';
import { explore } from './explore.ts';

/*
 * A process that explores cases for `explore-cases.ts`: it gets the template and the mutations as its argument, and the
 * name of a case with the number of faults for each exploration.
 */

const mutation = z.object({ file: z.string(), find: z.string(), replace: z.string() });
const options = z.object({ template: z.string(), mutations: z.array(mutation) });
const request = z.object({ name: z.string(), faults: z.number() });

const { template, mutations } = options.parse(JSON.parse(process.argv[2] ?? '{}'));
const service = loadService(template, mutations);

process.on('message', async (message) => {
  try {
    const { name, faults } = request.parse(message);
    const smallCase = smallCases.find((each) => each.name === name);
    if (!smallCase) throw new Error(`There is no case ${name}.`);
    process.send?.(await explore({ smallCase, faults, ...(await service) }));
  } catch (error) {
    process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on('disconnect', () => process.exit());
