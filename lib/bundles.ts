import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type BuildOptions, buildSync } from 'esbuild';
import type { FunctionName } from '../shared/environment.ts';
import { environments } from '../shared/environment.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** The names of all functions of the stack. */
export const functionNames = Object.keys(environments).filter((name): name is FunctionName => name in environments);

/**
 * Credential providers that Lambda functions do not use, because Lambda sets their credentials in the environment. The
 * SDK loads providers on demand, so the bundles can exclude them.
 */
const UNUSED_CREDENTIALS = ['ini', 'process', 'sso', 'web-identity', 'http', 'login'].map(
  (provider) => `@aws-sdk/credential-provider-${provider}`,
);

/**
 * esbuild options for code that runs on Lambda (DECISIONS.md#toolchain). Libraries are read as ES modules, because
 * esbuild cannot tree-shake CommonJS. The output is CommonJS: importing `node:http` from an ES module loads undici, and
 * `require` instead saves 10 to 20 ms of a cold start.
 */
export const bundling = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  mainFields: ['module', 'main'],
  supported: { 'dynamic-import': false },
  external: [...UNUSED_CREDENTIALS, '@aws-sdk/credential-providers', '@aws-sdk/client-sso', '@aws-sdk/client-sts'],
  legalComments: 'none',
  logLevel: 'error',
} satisfies BuildOptions;

/** esbuild requires an output directory for several entry points. With `write: false`, nothing is written to it. */
const VIRTUAL_OUTDIR = join(ROOT, 'bundles');

/** Builds all functions in one run. */
const build = () =>
  buildSync({
    ...bundling,
    entryPoints: functionNames.map((name) => ({ in: join('functions', `${name}.ts`), out: join(name, 'index') })),
    outdir: VIRTUAL_OUTDIR,
    write: false,
    metafile: true,
  });

let cachedBuild: ReturnType<typeof build> | undefined;

/** Builds once per process, because sources do not change while it runs. */
const buildOnce = () => {
  cachedBuild ??= build();
  return cachedBuild;
};

/**
 * Bundles all functions into `<directory>/<name>/index.js`.
 *
 * @returns a function that returns the directory of a bundle
 */
export const bundleFunctions = (directory: string): ((name: FunctionName) => string) => {
  for (const { path, contents } of buildOnce().outputFiles) {
    const file = join(directory, relative(VIRTUAL_OUTDIR, path));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
  return (name) => join(directory, name);
};

/** Returns the sources of all functions and their imports, relative to the project directory. */
export const bundleMetafile = () => buildOnce().metafile;

/** Returns the source files with code in a function's bundle, relative to the project directory. */
export const bundledInputs = (name: FunctionName): string[] => {
  const { inputs = {} } = buildOnce().metafile.outputs[relative(ROOT, join(VIRTUAL_OUTDIR, name, 'index.js'))] ?? {};
  return Object.keys(inputs).filter((input) => (inputs[input]?.bytesInOutput ?? 0) > 0);
};
