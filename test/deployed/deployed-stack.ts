import { readFile } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import * as z from 'zod';
import { deployedAddresses } from './outputs.ts';

/** The global setup of vitest: provides the addresses of the stack in the outputs file `STACK_OUTPUTS` to end-to-end tests. */
export default async function findStack(project: TestProject): Promise<void> {
  const file = z
    .string({ error: 'STACK_OUTPUTS must be the path of an outputs file' })
    .parse(process.env.STACK_OUTPUTS);
  project.provide('stack', deployedAddresses(await readFile(file, 'utf8')));
}
