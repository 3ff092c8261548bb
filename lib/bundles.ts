import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type BuildOptions, buildSync } from 'esbuild';
import type { FunctionName } from '../shared/environment.ts';
import { environments } from '../shared/environment.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** Every function of the stack. */
export const functionNames = Object.keys(environments).filter((name): name is FunctionName => name in environments);

/**
 * Ways to find credentials that a Lambda never takes: its own are in its environment. The SDK loads them on demand, so
 * leaving them out costs nothing but bytes.
 */
const UNUSED_CREDENTIALS = ['ini', 'process', 'sso', 'web-identity', 'http', 'login'].map(
  (provider) => `@aws-sdk/credential-provider-${provider}`,
);

/**
 * How everything that runs on Lambda is built: minified CommonJS made of the libraries' ES modules, since CommonJS builds
 * cannot be shaken. `import 'node:http'` of an ES module, static or dynamic as in the SDK, loads all of undici: a `require`
 * in its place saves 10 to 20 ms of a cold start.
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

/** Where esbuild is told to put what it hands over in memory. */
const NOWHERE = join(ROOT, 'bundles');

/** Builds all functions in one run. */
const build = () =>
  buildSync({
    ...bundling,
    entryPoints: functionNames.map((name) => ({ in: join('functions', `${name}.ts`), out: join(name, 'index') })),
    outdir: NOWHERE,
    write: false,
    metafile: true,
  });

let built: ReturnType<typeof build> | undefined;

/** The sources do not change while a process runs: a second stack in it gets the same bundles. */
const builtOnce = () => {
  built ??= build();
  return built;
};

/** Bundles all functions into `<directory>/<name>/index.js`. @returns where the bundle of a function lies */
export const bundleFunctions = (directory: string): ((name: FunctionName) => string) => {
  for (const { path, contents } of builtOnce().outputFiles) {
    const file = join(directory, relative(NOWHERE, path));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
  return (name) => join(directory, name);
};

/** The files of which the bundle of a function holds something, relative to the project. */
export const bundledInputs = (name: FunctionName): string[] => {
  const { inputs = {} } = builtOnce().metafile.outputs[relative(ROOT, join(NOWHERE, name, 'index.js'))] ?? {};
  return Object.keys(inputs).filter((input) => (inputs[input]?.bytesInOutput ?? 0) > 0);
};
