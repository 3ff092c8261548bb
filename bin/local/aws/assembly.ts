import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { notificationsApp } from '../../../lib/app.ts';
import { StartError } from './http.ts';

/** A synthesized stack: its template, and where the bundles of its functions lie. */
export interface Assembly {
  template: unknown;
  /** The directory of a function's bundle, by the key of its code asset. */
  bundle: (codeKey: string) => string;
  /** Takes the files away. */
  remove(): void;
}

const assetManifest = z.object({ files: z.record(z.string(), z.object({ source: z.object({ path: z.string() }) })) });

/** What a deploy wants and nobody reads here; the built-in check of the template alone takes seconds. */
const fastSynthesis = { builtinCloudFormationValidation: false, stackTraces: false, treeMetadata: false };

/** CDK's setting that writes each resource's construct into the template: resources are called by it here. */
const pathsInTemplate = 'aws:cdk:enable-path-metadata';

/** Synthesizes the CDK app into a directory of its own. */
export function synthesize(settings: Record<string, string>): Assembly {
  const directory = mkdtempSync(join(tmpdir(), 'monitoring-notifications-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const context = { ...settings, [pathsInTemplate]: true };
    const [stack] = notificationsApp({ context, outdir: directory, ...fastSynthesis }).synth().stacks;
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
}
