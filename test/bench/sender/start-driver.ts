import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { bundling } from '../../../lib/bundles.ts';
import type { Load, Measurement } from './driver.ts';

/** A driver in its own process. */
export type DriverProcess = { run: (load: Load) => Promise<Measurement>; stop: () => void };

/** Starts a built driver for a bundle. @param profile the folder for a CPU profile */
export const startDriver = async (
  driver: string,
  bundle: string,
  env: Record<string, string>,
  profile?: string,
): Promise<DriverProcess> => {
  const execArgv = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
  const child = fork(driver, [bundle], { env, execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  await once(child, 'message');
  return {
    run: (load) =>
      new Promise((resolve, reject) => {
        const rejectOnExit = () => reject(new Error(`${bundle} exited.`));
        child.once('exit', rejectOnExit);
        child.once('message', (measurement: Measurement) => {
          child.off('exit', rejectOnExit);
          resolve(measurement);
        });
        child.send(load);
      }),
    // The driver exits when it is disconnected, after it has written its profile.
    stop: () => child.disconnect(),
  };
};

/** Builds files of this folder with the settings of the deployed bundles. @returns the path of a file by its name */
export const buildBeside = <Name extends string>(directory: string, names: readonly Name[]) => {
  buildSync({
    ...bundling,
    entryPoints: names.map((name) => join(import.meta.dirname, `${name}.ts`)),
    outdir: directory,
  });
  return (name: Name): string => join(directory, `${name}.js`);
};
