import { readFile } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import * as z from 'zod';
import { deployedAddresses } from './outputs.ts';

/** The global setup of vitest. Provides the addresses of the stack whose outputs are in the file `STACK_OUTPUTS`. */
export default async function findStack(project: TestProject): Promise<void> {
  const file = z
    .string({ error: 'STACK_OUTPUTS must be the path of an outputs file' })
    .parse(process.env.STACK_OUTPUTS);
  project.provide('stack', deployedAddresses(await readFile(file, 'utf8')));
}
