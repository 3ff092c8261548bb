import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { notificationsApp } from '../../lib/app.ts';
import { StartError } from './aws/start-error.ts';

/** A synthesized stack: its template and the bundles of its functions. */
export type Assembly = {
  template: unknown;
  /** Returns the directory of a function's bundle, by the key of its code asset. */
  bundle: (codeKey: string) => string;
  /** Deletes the files. */
  remove(): void;
};

const assetManifest = z.object({ files: z.record(z.string(), z.object({ source: z.object({ path: z.string() }) })) });

/** Skips outputs that only a deployment uses; validating the template alone takes seconds. */
const FAST_SYNTHESIS = { builtinCloudFormationValidation: false, stackTraces: false, treeMetadata: false };

/** The CDK setting that adds construct paths to the template; local resource names derive from them. */
const PATH_METADATA = 'aws:cdk:enable-path-metadata';

/** Synthesizes the CDK app into a temporary directory. Throws a `StartError` if a function has no bundle. */
export const synthesize = (settings: Record<string, string>): Assembly => {
  const directory = mkdtempSync(join(tmpdir(), 'monitoring-notifications-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const context = { ...settings, [PATH_METADATA]: true };
    const [stack] = notificationsApp({ context, outdir: directory, ...FAST_SYNTHESIS }).synth().stacks;
    if (!stack) throw new StartError('The CDK app has no stack.');
    const manifest: unknown = JSON.parse(readFileSync(join(directory, `${stack.id}.assets.json`), 'utf8'));
    const { files } = assetManifest.parse(manifest);
    return {
      template: stack.template,
      bundle(codeKey) {
        const asset = files[codeKey.replace(/\.zip$/, '')];
        if (!asset) throw new StartError(`The assembly has no asset ${codeKey}.`);
        return join(directory, asset.source.path);
      },
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
};
