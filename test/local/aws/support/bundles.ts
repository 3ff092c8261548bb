import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bundles with the layout of CDK, `<name>/index.js`, in a temporary directory. */
export type Bundles = {
  directory: string;
  remove(): void;
};

/** Writes CommonJS bundles from the text of their `index.js`. */
export const writeBundles = (codes: Record<string, string>): Bundles => {
  const directory = mkdtempSync(join(tmpdir(), 'local-stack-test-'));
  for (const [name, code] of Object.entries(codes)) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, 'index.js'), code);
  }
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
};
