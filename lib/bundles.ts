import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
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
 * Bundles all functions in one run into `<directory>/<name>/index.js`: minified CommonJS made of the libraries' ES modules,
 * since `import 'node:http'` of an ES module loads all of undici, and CommonJS builds cannot be shaken (20 to 45 ms of a
 * cold start together).
 */
export const bundleFunctions = (directory: string): ((name: FunctionName) => string) => {
  mkdirSync(directory, { recursive: true });
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: functionNames.map((name) => ({ in: join('functions', `${name}.ts`), out: join(name, 'index') })),
    outdir: directory,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    mainFields: ['module', 'main'],
    external: [...UNUSED_CREDENTIALS, '@aws-sdk/credential-providers', '@aws-sdk/client-sso', '@aws-sdk/client-sts'],
    legalComments: 'none',
    logLevel: 'error',
  });
  return (name) => join(directory, name);
};
