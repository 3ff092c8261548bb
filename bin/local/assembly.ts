import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { StartError } from 'local-aws/start-error.ts';
import { z } from 'zod';
import { notificationsApp } from '../../lib/app.ts';

/** A synthesized stack: its template and the bundles of its functions. */
export type Assembly = {
  template: unknown;
  /** Returns the directory of a function's bundle, by the key of its code asset. */
  bundle: (codeKey: string) => string;
  /** Deletes the files. */
  remove(): void;
};

const assetManifest = z.object({ files: z.record(z.string(), z.object({ source: z.object({ path: z.string() }) })) });

const template = z.object({
  Resources: z.record(z.string(), z.object({ Type: z.string(), Properties: z.unknown() })),
});
const functionProperties = z.object({
  Code: z.object({ S3Key: z.string() }),
  Environment: z.object({ Variables: z.object({ RELEASE: z.string() }) }),
});

const functionsOf = (synthesized: unknown): z.infer<typeof functionProperties>[] =>
  Object.values(template.parse(synthesized).Resources)
    .filter(({ Type }) => Type === 'AWS::Lambda::Function')
    .map(({ Properties }) => functionProperties.parse(Properties));

const PROJECT = pathToFileURL(`${resolve(import.meta.dirname, '../..')}/`).href;

/**
 * Puts a source map beside a staged bundle, with a reference at the end of the bundle, so that debuggers find it. Its
 * paths become absolute. Bundles on AWS have neither; a comment at the end changes no position and no behavior.
 */
const addSourceMap = (directory: string, path: string): void => {
  const map = readFileSync(path, 'utf8').replace('{', `{"sourceRoot":${JSON.stringify(PROJECT)},`);
  writeFileSync(join(directory, 'index.js.map'), map);
  appendFileSync(join(directory, 'index.js'), '//# sourceMappingURL=index.js.map\n');
};

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
    const bundle = (codeKey: string): string => {
      const asset = files[codeKey.replace(/\.zip$/, '')];
      if (!asset) throw new StartError(`The assembly has no asset ${codeKey}.`);
      return join(directory, asset.source.path);
    };
    for (const { Code, Environment } of functionsOf(stack.template))
      addSourceMap(bundle(Code.S3Key), join(directory, 'maps', `${Environment.Variables.RELEASE}.map`));
    return { template: stack.template, bundle, remove };
  } catch (error) {
    remove();
    throw error;
  }
};
