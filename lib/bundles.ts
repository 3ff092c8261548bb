import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, buildSync } from 'esbuild';
import { environments, type FunctionName } from '../shared/environment.ts';

const ROOT = resolve(import.meta.dirname, '..');

export const functionNames = Object.keys(environments).filter((name): name is FunctionName => name in environments);

/** Lambda sets credentials in the environment, and the SDK loads other providers on demand. */
const UNUSED_CREDENTIALS = [
  ...['ini', 'process', 'sso', 'web-identity', 'http', 'login'].map(
    (provider) => `@aws-sdk/credential-provider-${provider}`,
  ),
  '@smithy/credential-provider-imds',
  '@aws-sdk/credential-providers',
];

/**
 * esbuild options for code that runs on Lambda (docs/decisions/stack.md#toolchain). Libraries are read as ES modules,
 * because esbuild cannot tree-shake CommonJS. The output is CommonJS: importing `node:http` from an ES module loads
 * undici, and `require` instead saves 10 to 20 ms of a cold start.
 * A bundle contains no module that is imported dynamically and imports others: esbuild wraps all of these in closures,
 * which V8 parses twice.
 * Identifiers keep their names, so that a logged stack trace has the function names of the sources.
 */
export const bundling = {
  absWorkingDir: ROOT,
  bundle: true,
  minifySyntax: true,
  minifyWhitespace: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  mainFields: ['module', 'main'],
  supported: { 'dynamic-import': false },
  alias: { '@smithy/core/event-streams': './shared/adapters/event-streams.ts' },
  external: [...UNUSED_CREDENTIALS, '@aws-sdk/client-sso', '@aws-sdk/client-sts'],
  legalComments: 'none',
  logLevel: 'error',
} satisfies BuildOptions;

/** Its directory contains only `index.js`. The release, 16 hexadecimal digits, depends only on the sources. */
export type Bundle = { directory: string; release: string };

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/**
 * Builds all functions in one run. Source maps are for the local stack only. Nothing is written to `outdir`: paths in
 * bundles and maps are relative to it, also if `node_modules` is a symbolic link.
 */
const build = () => {
  const { outputFiles, metafile } = buildSync({
    ...bundling,
    entryPoints: functionNames.map((name) => ({ in: join('functions', `${name}.ts`), out: name })),
    outdir: ROOT,
    write: false,
    metafile: true,
    sourcemap: 'external',
    sourceRoot: pathToFileURL(`${ROOT}/`).href,
    sourcesContent: false,
    preserveSymlinks: true,
  });
  const files = new Map(outputFiles.map(({ path, text }) => [relative(ROOT, path), text]));
  const bundles = functionNames.map((name) => {
    const code = files.get(`${name}.js`) ?? '';
    return { name, code, map: files.get(`${name}.js.map`) ?? '', release: hashOf(code) };
  });
  return { bundles, metafile };
};

type Build = ReturnType<typeof build>;

/** The file has the project directory in its name, because a test run can also build another release. */
const sharedBuild = (directory: string): Build => {
  const file = join(directory, `build-${hashOf(ROOT)}.json`);
  if (existsSync(file)) {
    const shared: Build = JSON.parse(readFileSync(file, 'utf8'));
    return shared;
  }
  const built = build();
  const temporary = `${file}.${randomUUID()}`;
  writeFileSync(temporary, JSON.stringify(built));
  renameSync(temporary, file);
  return built;
};

let cachedBuild: Build | undefined;

/** Builds once per process, or once per test run, whose processes share a build through a directory. */
const buildOnce = (): Build => {
  const { SHARED_BUILDS } = process.env;
  cachedBuild ??= SHARED_BUILDS === undefined ? build() : sharedBuild(SHARED_BUILDS);
  return cachedBuild;
};

/** Bundles all functions into `<directory>/bundles/<name>/index.js`. */
export const bundleFunctions = (directory: string): ((name: FunctionName) => Bundle) => {
  const { bundles } = buildOnce();
  for (const { name, code } of bundles) {
    mkdirSync(join(directory, 'bundles', name), { recursive: true });
    writeFileSync(join(directory, 'bundles', name, 'index.js'), code);
  }
  return (name) => ({ directory: join(directory, 'bundles', name), release: findBundle({ name }).release });
};

const findBundle = (wanted: { name: FunctionName } | { release: string }): Build['bundles'][number] => {
  const bundle = buildOnce().bundles.find(({ name, release }) =>
    'name' in wanted ? name === wanted.name : release === wanted.release,
  );
  if (!bundle) throw new Error('There is no such bundle.');
  return bundle;
};

/** Its source root is the project directory. */
export const sourceMapOf = (release: string): string => findBundle({ release }).map;

/** All paths in it, and those of `bundledInputs`, are relative to the project directory. */
export const bundleMetafile = () => buildOnce().metafile;

/** Returns the source files with code in a function's bundle. */
export const bundledInputs = (name: FunctionName): string[] => {
  const { inputs = {} } = buildOnce().metafile.outputs[`${name}.js`] ?? {};
  return Object.keys(inputs).filter((input) => (inputs[input]?.bytesInOutput ?? 0) > 0);
};
