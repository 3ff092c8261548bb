/** `npm start -- --watch`: applies changes of the sources to the running stack (CONTRIBUTING.md#watch). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { FunctionSettings } from 'local-aws/lambda/environment.ts';
import type { Lambda } from 'local-aws/lambda/lambda.ts';
import type { Plan } from 'local-aws/template.ts';
import { bundleMetafile, bundling, functionNames } from '../../../lib/bundles.ts';
import { watchDirectories } from './directories.ts';
import { createFunctionBuilder, inputsOf } from './function-builder.ts';
import { createRebuilder, listed, type Rebuilder } from './rebuild.ts';
import { structuralChanges, synthesizeTemplate, templateSources } from './template.ts';

/** Options of the watch. */
export type WatchOptions = {
  plan: Plan;
  lambda: Lambda;
  /** The settings of the CDK app. */
  settings: Record<string, string>;
  /** Reads a synthesized template, without the directories of the bundles. */
  readPlan: (template: unknown) => Plan;
  log: (line: string) => void;
};

const ROOT = resolve(import.meta.dirname, '../../..');

const DIRECTORIES = ['functions', 'shared', 'lib'];

/**
 * Watches the sources of the functions and of the template. A changed function gets new sandboxes. Changed settings of
 * a function, such as its environment, are applied too; any other change of the template is reported, because it needs
 * a restart. Returns a function that ends the watch.
 */
export const watchSources = async ({ plan, lambda, settings, readPlan, log: print }: WatchOptions) => {
  const directory = mkdtempSync(join(tmpdir(), 'monitoring-notifications-watch-'));
  const controller = new AbortController();
  const log = (line: string) => {
    if (!controller.signal.aborted) print(`watch: ${line}`);
  };
  const metafile = bundleMetafile();
  const rebuilder = createRebuilder({
    builder: createFunctionBuilder(ROOT, bundling),
    inputsOf: (name) => inputsOf(metafile, `functions/${name}.ts`, ROOT),
    functions: functionsBySource(plan.functions),
    lambda,
    directory,
    log,
  });
  let sources = await templateSources(ROOT);
  const checkTemplate = async (): Promise<void> => {
    try {
      const after = readPlan(await synthesizeTemplate(settings, directory, controller.signal));
      sources = await templateSources(ROOT);
      const isApplied = applySettings(rebuilder, after.functions, log);
      const parts = structuralChanges(plan, after);
      if (!isApplied && parts.length === 0) log('The template did not change in a way that matters on this machine.');
      if (parts.length > 0) log(`The ${parts.join(', ')} of the template changed. Restart npm start to apply this.`);
    } catch (error) {
      log(`The template cannot be synthesized: ${error instanceof Error ? error.message : error}`);
    }
  };
  const checkTemplateOnce = latest(checkTemplate);
  const endWatch = watchDirectories(
    DIRECTORIES.map((name) => join(ROOT, name)),
    async (paths) => {
      await rebuilder.filesChanged(paths);
      if (paths.some((path) => sources.has(path)) && !controller.signal.aborted) await checkTemplateOnce();
    },
  );
  log(`Watching ${DIRECTORIES.map((name) => `${name}/`).join(', ')}.`);
  return async () => {
    controller.abort();
    endWatch();
    await rebuilder.close();
    // The synthesis may still write while it is being killed.
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
};

/**
 * Returns a function that runs `task` one at a time: calls during a run are combined into one more run after it.
 */
const latest = (task: () => Promise<void>): (() => Promise<void>) => {
  let running: Promise<void> | undefined;
  let isRequested = false;
  const run = async (): Promise<void> => {
    while (isRequested) {
      isRequested = false;
      await task();
    }
    running = undefined;
  };
  return () => {
    isRequested = true;
    running ??= run();
    return running;
  };
};

/** Returns the functions by the name of their source, with which their local names end. */
const functionsBySource = (functions: readonly FunctionSettings[]): Map<string, FunctionSettings> => {
  const byLength = functionNames.toSorted((a, b) => b.length - a.length);
  return new Map(
    functions.flatMap((settings) => {
      const source = byLength.find((name) => `-${settings.name}`.endsWith(`-${name}`));
      return source === undefined ? [] : [[source, settings] as const];
    }),
  );
};

/** Applies the settings of functions other than their code. Returns whether any changed. */
const applySettings = (
  rebuilder: Rebuilder,
  functions: readonly FunctionSettings[],
  log: (line: string) => void,
): boolean => {
  const updated: string[] = [];
  for (const [source, { directory, ...running }] of rebuilder.functions()) {
    const after = functions.find(({ name }) => name === running.name);
    if (!after) continue;
    const { directory: _, environment, ...others } = after;
    // The release identifies the code, which the rebuilder has already replaced.
    const settings = { ...others, environment: withRelease(environment, running.environment.RELEASE) };
    if (isDeepStrictEqual(settings, running)) continue;
    rebuilder.update(source, { ...settings, directory });
    updated.push(source);
  }
  if (updated.length > 0) log(`Applied changed settings to ${listed(updated)}.`);
  return updated.length > 0;
};

const withRelease = (environment: FunctionSettings['environment'], release: string | undefined) =>
  release === undefined ? environment : { ...environment, RELEASE: release };
