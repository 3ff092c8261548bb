import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { bundling } from '../../../lib/bundles.ts';
import type { Slice, Taken } from './driver.ts';

/** Something that takes messages, in a process of its own. */
export type Driven = { run: (slice: Slice) => Promise<Taken>; stop: () => void };

/** Starts a built driver on a bundle with an environment. @param profile the folder for its CPU profile, if it is to have one */
export const startDriver = async (
  driver: string,
  bundle: string,
  env: Record<string, string>,
  profile?: string,
): Promise<Driven> => {
  const execArgv = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
  const child = fork(driver, [bundle], { env, execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  await once(child, 'message');
  return {
    run: (slice) =>
      new Promise((resolve, reject) => {
        const died = () => reject(new Error(`${bundle} died.`));
        child.once('exit', died);
        child.once('message', (taken: Taken) => {
          child.off('exit', died);
          resolve(taken);
        });
        child.send(slice);
      }),
    // It ends by itself, so that a profile is written.
    stop: () => child.disconnect(),
  };
};

/** Builds files of this folder by the same rules as what deploys. @returns where one lies, built */
export const buildBeside = <Name extends string>(directory: string, names: readonly Name[]) => {
  buildSync({
    ...bundling,
    entryPoints: names.map((name) => join(import.meta.dirname, `${name}.ts`)),
    outdir: directory,
  });
  return (name: Name): string => join(directory, `${name}.js`);
};
