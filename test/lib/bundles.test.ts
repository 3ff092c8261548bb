import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { bundleFunctions, functionNames } from '../../lib/bundles.ts';

const directory = mkdtempSync(join(tmpdir(), 'bundles-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const bundleOf = bundleFunctions(directory);
const entryOf = (name: (typeof functionNames)[number]) => join(bundleOf(name), 'index.js');

describe('the bundles', () => {
  it('are one for each file in functions/, and each function has its file', () => {
    const entries = readdirSync(resolve(import.meta.dirname, '../../functions'));
    expect(entries.toSorted()).toEqual(functionNames.map((name) => `${name}.ts`).toSorted());
  });

  it.each(functionNames)('are CommonJS with a handler, small enough to start fast: %s', (name) => {
    const code = readFileSync(entryOf(name), 'utf8');
    expect(code).toMatch(/handler/);
    expect(code).toMatch(/module\.exports/);
    expect(statSync(entryOf(name)).size).toBeLessThan(1_000_000);
  });

  it('hold the AWS SDK, and nothing that is only in development', () => {
    const modules = /require\("(?!node:)([^"]+)"\)/g;
    for (const name of functionNames) {
      const required = [...readFileSync(entryOf(name), 'utf8').matchAll(modules)].map(([, module = '']) => module);
      const known = /^(@aws-sdk\/(credential-provider(-[\w-]+|s)|client-(sso|sts)).*|[a-z_0-9]+(\/[a-z]+)?)$/;
      for (const module of required) expect(module).toMatch(known);
    }
  });
});
