import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { Script } from 'node:vm';
import { build, transformSync } from 'esbuild';
import { bundling } from '../../../lib/bundles.ts';
import { contexts, currentContext } from './context.ts';
import { simulatedModules } from './simulated-modules.ts';

/** The folder of the project. */
export const ROOT = resolve(import.meta.dirname, '../../..');

/** A change of a source file: one occurrence of a text is replaced. */
export type Mutation = { file: string; find: string; replace: string };

export type Handler = (event: unknown, context: object) => Promise<unknown>;

export type ServiceCode = {
  /** Evaluates the module of a function, as a cold start does, in the current context. */
  load: (functionName: string) => Handler;
};

type Require = (name: string) => unknown;
type Exports = Record<string, unknown>;
type Module = { exports: Exports };

const projectRequire = createRequire(join(ROOT, 'shared/'));

/** The SDK stays outside of the code, as one copy for all execution environments. It has no state but its clients'. */
const isOfSdk = (name: string): boolean => /^@(aws-sdk|smithy)\//.test(name);

/** A standard stream. `Console` adds and removes a listener for its errors. */
const standardStream = {
  write(text: string): boolean {
    currentContext().write(text);
    return true;
  },
  listenerCount: () => 0,
  once: () => undefined,
  removeListener: () => undefined,
};

/** What code of the service sees as `process`. */
const simulatedProcess = {
  get env() {
    return contexts.getStore()?.variables ?? {};
  },
  stdout: standardStream,
  stderr: standardStream,
  getBuiltinModule: (name: string) => process.getBuiltinModule(name),
  platform: process.platform,
  version: process.version,
  versions: process.versions,
};

const log = (...parts: unknown[]): void => currentContext().write(`${parts.join(' ')}\n`);
/** What code of the service sees as `console`. */
const simulatedConsole = { log, info: log, warn: log, error: log, debug: log };

const requireFor =
  (others: (name: string) => unknown): Require =>
  (name) =>
    simulatedModules.get(name.replace(/^node:/, '')) ?? others(name);

const evaluate = (script: Script, require: Require): Exports => {
  const module: Module = { exports: {} };
  script.runInThisContext()(module, module.exports, require, simulatedProcess, simulatedConsole);
  return module.exports;
};

const scriptOf = (code: string, filename: string): Script =>
  new Script(`(function (module, exports, require, process, console) {${code}\n})`, { filename });

/** Returns the text of a source file after its mutations. @throws Error if the text to replace does not occur once */
export const mutatedText = (file: string, mutations: readonly Mutation[]): string =>
  mutations
    .filter((mutation) => mutation.file === file)
    .reduce(
      (text, { find, replace }) => {
        if (text.split(find).length !== 2) throw new Error(`${file} must contain this once: ${find}`);
        return text.replace(find, () => replace);
      },
      readFileSync(join(ROOT, file), 'utf8'),
    );

const sharedImports = (text: string): string[] =>
  [...text.matchAll(/from '(\.\.\/shared\/[^']+)'/g)].flatMap(([, path]) => path ?? []);

/**
 * Builds the functions as they are deployed, but for two things: `shared/` is evaluated once, because its modules have no
 * state, and the SDK stays outside. Functions are evaluated for each execution environment. Nothing is replaced at build
 * time: the code gets other modules of Node.js for what is outside of it (`simulated-modules.ts`).
 *
 * @param mutations changes of the sources, to see whether the simulation finds them
 */
export const buildService = async (mutations: readonly Mutation[] = []): Promise<ServiceCode> => {
  for (const { file, find, replace } of mutations) mutatedText(file, [{ file, find, replace }]);
  const files = globSync('functions/*.ts', { cwd: ROOT });
  const sources = new Map(files.map((file) => [file, mutatedText(file, mutations)]));
  const imports = [...new Set([...sources.values()].flatMap(sharedImports))].sort();
  const { outputFiles } = await build({
    ...bundling,
    minifySyntax: false,
    minifyWhitespace: false,
    write: false,
    external: [...bundling.external, '@aws-sdk/*', '@smithy/*'],
    alias: {},
    stdin: {
      contents: [
        ...imports.map((path, index) => `import * as module${index} from '${path.replace('..', '.')}';`),
        `export const modules = {${imports.map((path, index) => `'${path}': module${index}`).join(',')}};`,
      ].join('\n'),
      resolveDir: ROOT,
      loader: 'ts',
    },
    plugins: [
      {
        name: 'mutations',
        setup({ onLoad }) {
          for (const file of new Set(mutations.map((mutation) => mutation.file)))
            onLoad({ filter: new RegExp(`${file.replaceAll(/[/.]/g, '\\$&')}$`) }, () => ({
              contents: mutatedText(file, mutations),
              loader: 'ts',
            }));
        },
      },
    ],
  });
  const shared = scriptOf(outputFiles[0]?.text ?? '', 'shared.js');
  const { modules } = evaluate(
    shared,
    requireFor((name) => projectRequire(name)),
  );
  const scripts = new Map(
    [...sources].map(([file, text]) => [
      basename(file, '.ts'),
      scriptOf(transformSync(text, { loader: 'ts', format: 'cjs', target: bundling.target }).code, file),
    ]),
  );
  const requireShared = requireFor((name) =>
    isOfSdk(name) ? projectRequire(name) : Reflect.get(Object(modules), name),
  );
  return {
    load(functionName) {
      const script = scripts.get(functionName);
      if (!script) throw new Error(`There is no function ${functionName}.`);
      const { handler } = evaluate(script, requireShared);
      if (typeof handler !== 'function') throw new Error(`${functionName} has no handler.`);
      return async (event, context) => handler(event, context);
    },
  };
};
