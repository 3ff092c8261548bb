import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Bundle, bundleFunctions, functionNames, sourceMapOf } from '../../lib/bundles.ts';
import { useStarted } from '../support/use-started.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const output = useStarted(
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'releases-'));
    return { directory, bundleOf: bundleFunctions(join(directory, 'output')) };
  },
  ({ directory }) => rmSync(directory, { recursive: true, force: true }),
);
const releases = () => Object.fromEntries(functionNames.map((name) => [name, output.bundleOf(name).release]));

const BUILD = `
  const { bundleFunctions, functionNames } = await import('./lib/bundles.ts');
  const bundleOf = bundleFunctions(process.argv[1]);
  console.log(JSON.stringify(functionNames.map((name) => [name, bundleOf(name)])));
`;
const built = z.array(z.tuple([z.string(), z.object({ directory: z.string(), release: z.string() })]));

/** Copies the project to another directory. @returns a function that builds its bundles */
const copyProject = (name: string) => {
  const copy = join(output.directory, name);
  mkdirSync(copy);
  for (const part of ['functions', 'lib', 'shared', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const build = async (): Promise<Map<string, Bundle>> => {
    const nodeArguments = ['--input-type=module', '--eval', BUILD, join(output.directory, `${name}-output`)];
    const { stdout } = await promisify(execFile)(process.execPath, nodeArguments, {
      cwd: copy,
      env: { ...process.env, SHARED_BUILDS: undefined },
    });
    return new Map(built.parse(JSON.parse(stdout)));
  };
  return { copy, build };
};

it('the release of a function is the same for the same sources in another directory', async () => {
  const elsewhere = await copyProject('elsewhere').build();
  expect(Object.fromEntries([...elsewhere].map(([name, { release }]) => [name, release]))).toEqual(releases());
});

/** A source of the functions that authenticate. */
const CHANGED = 'shared/adapters/tokens/token-reader.ts';

it('a change of the code changes the releases of the functions that contain it, and no others', async () => {
  const { copy, build } = copyProject('changed');
  const file = join(copy, CHANGED);
  writeFileSync(file, readFileSync(file, 'utf8').replace('ttl * 1000', 'ttl * 1_001'));
  const changed = await build();
  const unchanged = functionNames.filter((name) => changed.get(name)?.release === output.bundleOf(name).release);
  expect(unchanged).toContain('send-webhook');
  expect(unchanged).not.toContain('get-account');
});

describe('a bundle', () => {
  it.each(functionNames)('is one file without a source map or a reference to it: %s', (name) => {
    expect(readdirSync(output.bundleOf(name).directory)).toEqual(['index.js']);
    expect(readFileSync(join(output.bundleOf(name).directory, 'index.js'), 'utf8')).not.toContain('sourceMappingURL');
  });

  it('has a source map with paths in the project', () => {
    const { sources } = z
      .object({ sources: z.array(z.string()) })
      .parse(JSON.parse(sourceMapOf(output.bundleOf('send-webhook').release)));
    expect(sources).toContain('functions/send-webhook.ts');
    for (const source of sources) expect(source).toMatch(/^(functions|shared|node_modules)\//);
  });
});
