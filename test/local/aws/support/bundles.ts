import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useStarted } from '../../../support/use-started.ts';

/** Bundles with the layout of CDK, `<name>/index.js`, in a temporary directory. */
export type Bundles = {
  directory: string;
};

/** Writes CommonJS bundles from the text of their `index.js`, for the tests of a file or describe. */
export const useBundles = (codes: Record<string, string>): Bundles =>
  useStarted(
    () => ({ directory: writeBundles(codes) }),
    ({ directory }) => rmSync(directory, { recursive: true, force: true }),
  );

const writeBundles = (codes: Record<string, string>): string => {
  const directory = mkdtempSync(join(tmpdir(), 'local-stack-test-'));
  for (const [name, code] of Object.entries(codes)) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, 'index.js'), code);
  }
  return directory;
};
