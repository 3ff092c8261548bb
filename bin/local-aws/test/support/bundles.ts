import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** Bundles with the layout of CDK, `<name>/index.js`, in a temporary directory. */
export type Bundles = {
  directory: string;
};

/** Writes CommonJS bundles from the text of their `index.js`, for the tests of a file or describe. */
export const useBundles = (codes: Record<string, string>): Bundles => {
  const directory = join(tmpdir(), `local-aws-test-${randomUUID()}`);
  beforeAll(() => {
    for (const [name, code] of Object.entries(codes)) {
      mkdirSync(join(directory, name), { recursive: true });
      writeFileSync(join(directory, name, 'index.js'), code);
    }
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return { directory };
};
