import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { FunctionSettings } from 'local-aws/lambda/environment.ts';
import type { Lambda } from 'local-aws/lambda/lambda.ts';
import { type BuiltFunction, type FunctionBuilder, withoutSourceMap } from './function-builder.ts';

/** Options of the rebuilder. */
export type RebuilderOptions = {
  builder: FunctionBuilder;
  /** Returns the absolute paths of the sources in the running code of a function. */
  inputsOf: (name: string) => ReadonlySet<string>;
  /** The running functions, by the name of their source in `functions/`. */
  functions: ReadonlyMap<string, FunctionSettings>;
  lambda: Pick<Lambda, 'update' | 'sandboxes'>;
  /** A directory for the new bundles. */
  directory: string;
  log: (line: string) => void;
};

/** The number of functions that a log line names. */
const MAX_NAMED = 4;

/**
 * Creates a rebuilder. It first builds the functions that have sandboxes, then the others, because bundling all takes
 * seconds of CPU time. A function is updated only if its code changed; if a build fails, all continue with the last
 * code that was built.
 */
export const createRebuilder = (options: RebuilderOptions) => {
  const { builder, lambda, directory, log } = options;
  const running = new Map(options.functions);
  const names = [...running.keys()];
  const inputs = new Map(names.map((name) => [name, options.inputsOf(name)]));
  const codes = new Map(
    [...running].map(([name, settings]) => [
      name,
      withoutSourceMap(readFileSync(join(settings.directory, 'index.js'), 'utf8')),
    ]),
  );
  const stale = new Set<string>();
  let changes = 0;
  let updates = 0;
  let work: Promise<void> | undefined;
  let isClosed = false;

  const update = (name: string, settings: FunctionSettings): void => {
    const earlier = running.get(name)?.directory;
    running.set(name, settings);
    void lambda.update(settings).then(() => {
      const isOwn = earlier?.startsWith(directory) && earlier !== running.get(name)?.directory;
      if (earlier && isOwn) rmSync(earlier, { recursive: true, force: true });
    });
  };

  /** Returns the functions whose code changed. */
  const apply = (built: ReadonlyMap<string, BuiltFunction>): string[] => {
    for (const [name, each] of built) inputs.set(name, each.inputs);
    const changed = [...built].filter(([name, { code }]) => codes.get(name) !== code);
    for (const [name, each] of changed) {
      const settings = running.get(name);
      if (!settings) continue;
      updates += 1;
      const target = join(directory, `${updates}-${name}`);
      each.write(target);
      codes.set(name, each.code);
      update(name, { ...settings, directory: target });
    }
    return changed.map(([name]) => name);
  };

  const rebuild = async (): Promise<void> => {
    while (stale.size > 0) {
      const startedAtMs = performance.now();
      const changesAtStart = changes;
      const inUse = [...stale].filter((name) => lambda.sandboxes(running.get(name)?.name ?? '') > 0);
      const batch = inUse.length > 0 ? inUse : [...stale];
      for (const name of batch) stale.delete(name);
      try {
        const built = await builder.build(batch);
        if (isClosed) return;
        const changed = apply(built);
        const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
        const code = changed.length > 0 ? `Replaced ${listed(changed)}` : `The code of ${listed(batch)} did not change`;
        log(`${code} (${seconds} s).`);
      } catch (error) {
        for (const name of batch) stale.add(name);
        log(`The functions continue with their last code: ${buildErrors(error)}`);
        // The fix may have been saved during the build.
        if (changes === changesAtStart) return;
      }
    }
  };

  return {
    /** Rebuilds the functions that contain one of these files, and all whose last build failed. */
    async filesChanged(paths: readonly string[]): Promise<void> {
      changes += 1;
      for (const name of names) if (paths.some((path) => inputs.get(name)?.has(path))) stale.add(name);
      work ??= rebuild().finally(() => {
        work = undefined;
      });
      await work;
    },
    /** Returns the current settings of the functions, by the name of their source. */
    functions: (): ReadonlyMap<string, FunctionSettings> => running,
    /** Applies settings other than the code. */
    update,
    /** Ends it; resolves when a running build has ended, whose result is discarded. */
    async close(): Promise<void> {
      isClosed = true;
      await work;
    },
  };
};

/** Keeps the running functions equal to their sources. */
export type Rebuilder = ReturnType<typeof createRebuilder>;

/** Returns the names, or only their number if they are many. */
export const listed = (names: readonly string[]): string =>
  names.length > MAX_NAMED ? `${names.length} functions` : names.join(', ');

/** Returns the file, line and column of each error with its text. The message of esbuild starts with their number. */
const buildErrors = (error: unknown): string => {
  const [summary = '', ...errors] = error instanceof Error ? error.message.split('\n') : [String(error)];
  return errors.length === 0 ? summary : errors.map((line) => line.replace(': ERROR: ', ': ')).join('\n');
};
