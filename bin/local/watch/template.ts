import { execFile } from 'node:child_process';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { build } from 'esbuild';
import type { Plan } from 'local-aws/template.ts';

/** The background priority of the synthesis, so that it does not delay the functions. */
const NICE = 10;

const MAX_TEMPLATE_BYTES = 64 * 1024 * 1024;

/**
 * Synthesizes the current sources of the CDK app in another process.
 *
 * @param directory where the process keeps its files; they remain if `signal` ends it
 * @throws Error with what the CDK app reports
 */
export const synthesizeTemplate = async (
  settings: Record<string, string>,
  directory: string,
  signal: AbortSignal,
): Promise<unknown> => JSON.parse(await printedTemplate(settings, directory, signal));

const printedTemplate = (settings: Record<string, string>, directory: string, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const file = join(import.meta.dirname, 'print-template.ts');
    const args = [file, JSON.stringify(settings)];
    const options = {
      env: { ...process.env, TMPDIR: directory },
      maxBuffer: MAX_TEMPLATE_BYTES,
      signal,
      killSignal: 'SIGKILL' as const,
    };
    const child = execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr.trim() || error.message));
      else resolve(stdout);
    });
    if (child.pid !== undefined) setPriority(child.pid, NICE);
  });

/** Returns the absolute paths of the sources of the CDK app, which define the template. */
export const templateSources = async (root: string): Promise<ReadonlySet<string>> => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['lib/app.ts'],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  return new Set(Object.keys(metafile.inputs).map((path) => join(root, path)));
};

/** Returns the parts of a plan that differ in another, apart from the settings of functions that both contain. */
export const structuralChanges = (before: Plan, after: Plan): string[] => {
  const parts = (plan: Plan): Record<string, unknown> => ({
    functions: plan.functions.map(({ name }) => name),
    routes: plan.routes,
    queues: plan.queues,
    'event sources': plan.eventSources,
    schedules: plan.schedules,
    tables: plan.tables,
    topics: plan.topicArns,
  });
  const earlier = parts(before);
  return Object.entries(parts(after))
    .filter(([name, value]) => !isDeepStrictEqual(earlier[name], value))
    .map(([name]) => name);
};
