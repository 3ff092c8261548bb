import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { notificationsApp } from '../../lib/app.ts';
import { sourceMapOf } from '../../lib/bundles.ts';
import { type Assembly, type AssemblyFiles, readAssembly } from './assembly-files.ts';

const template = z.object({
  Resources: z.record(z.string(), z.object({ Type: z.string(), Properties: z.unknown().optional() })),
});
const functionProperties = z.object({
  Code: z.object({ S3Key: z.string() }),
  Environment: z.object({ Variables: z.object({ RELEASE: z.string() }) }),
});

const functionsOf = (synthesized: unknown): z.infer<typeof functionProperties>[] =>
  Object.values(template.parse(synthesized).Resources)
    .filter(({ Type }) => Type === 'AWS::Lambda::Function')
    .map(({ Properties }) => functionProperties.parse(Properties));

/**
 * Puts a source map beside a staged bundle, with a reference at the end of the bundle, so that debuggers find it.
 * Bundles on AWS have neither; a comment at the end changes no position and no behavior.
 */
const addSourceMap = (directory: string, map: string): void => {
  writeFileSync(join(directory, 'index.js.map'), map);
  appendFileSync(join(directory, 'index.js'), '//# sourceMappingURL=index.js.map\n');
};

/** Skips outputs that only a deployment uses; validating the template alone takes seconds. */
const FAST_SYNTHESIS = { builtinCloudFormationValidation: false, stackTraces: false, treeMetadata: false };

/** The CDK setting that adds construct paths to the template; local resource names derive from them. */
const PATH_METADATA = 'aws:cdk:enable-path-metadata';

/** Synthesizes the CDK app into a directory. @throws StartError if a function has no bundle */
export const synthesizeTo = (directory: string, settings: Record<string, string>): AssemblyFiles => {
  const context = { ...settings, [PATH_METADATA]: true };
  notificationsApp({ context, outdir: directory, ...FAST_SYNTHESIS }).synth();
  const assembly = readAssembly(directory);
  for (const { Code, Environment } of functionsOf(assembly.template))
    addSourceMap(assembly.bundle(Code.S3Key), sourceMapOf(Environment.Variables.RELEASE));
  return assembly;
};

/** Synthesizes the CDK app into a temporary directory. Throws a `StartError` if a function has no bundle. */
export const synthesize = (settings: Record<string, string>): Assembly => {
  const directory = mkdtempSync(join(tmpdir(), 'monitoring-notifications-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    return { ...synthesizeTo(directory, settings), remove };
  } catch (error) {
    remove();
    throw error;
  }
};
