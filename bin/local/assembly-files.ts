import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from 'local-aws/start-error.ts';
import { z } from 'zod';

/** A synthesized stack: its template and the bundles of its functions. */
export type AssemblyFiles = {
  template: unknown;
  /** Returns the directory of a function's bundle, by the key of its code asset. */
  bundle: (codeKey: string) => string;
};

/** A synthesized stack that its user removes. */
export type Assembly = AssemblyFiles & {
  remove(): void;
};

const assetManifest = z.object({ files: z.record(z.string(), z.object({ source: z.object({ path: z.string() }) })) });

/** Reads a synthesized stack without the CDK, which takes a second to load. */
export const readAssembly = (directory: string): AssemblyFiles => {
  const read = (pattern: string): unknown => {
    const [file] = globSync(pattern, { cwd: directory });
    if (file === undefined) throw new StartError('The CDK app has no stack.');
    return JSON.parse(readFileSync(join(directory, file), 'utf8'));
  };
  const { files } = assetManifest.parse(read('*.assets.json'));
  return {
    template: read('*.template.json'),
    bundle(codeKey) {
      const asset = files[codeKey.replace(/\.zip$/, '')];
      if (!asset) throw new StartError(`The assembly has no asset ${codeKey}.`);
      return join(directory, asset.source.path);
    },
  };
};
