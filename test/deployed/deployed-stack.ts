import { readFile } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import * as z from 'zod';
import { deployedStack } from './outputs.ts';

/** Tells the end-to-end tests how to reach the stack of `STACK_OUTPUTS`, a file of `cdk deploy`; the vitest global set-up. */
export default async function findStack(project: TestProject): Promise<void> {
  const file = z.string({ error: 'STACK_OUTPUTS must name a file of outputs' }).parse(process.env.STACK_OUTPUTS);
  project.provide('stack', deployedStack(await readFile(file, 'utf8')));
}
