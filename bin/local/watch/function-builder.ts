import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type BuildOptions, build, type Metafile } from 'esbuild';

/** A built function. */
export type BuiltFunction = {
  /** The text of the bundle, without the reference to its source map. */
  code: string;
  /** The absolute paths of the sources in the bundle and of those that they import. */
  inputs: ReadonlySet<string>;
  /** Writes the bundle and its source map to a directory. */
  write(directory: string): void;
};

/** Returns the text of a bundle on disk without the reference to its source map, as `BuiltFunction` has it. */
export const withoutSourceMap = (text: string): string => text.replace(/\/\/# sourceMappingURL=.*\s*$/, '');

/** Creates a builder of the functions of a project. `bundling` are the options that bundle a function for Lambda. */
export const createFunctionBuilder = (root: string, bundling: BuildOptions) => ({
  /** Builds functions from `functions/<name>.ts`. @returns their code by name @throws BuildFailure of esbuild */
  async build(names: readonly string[]): Promise<Map<string, BuiltFunction>> {
    const { outputFiles, metafile } = await build({
      ...bundling,
      absWorkingDir: root,
      entryPoints: names.map((name) => ({ in: `functions/${name}.ts`, out: name })),
      // Nothing is written to it. Sources in the maps are relative to it.
      outdir: root,
      sourcemap: 'external',
      sourceRoot: `file://${root}/`,
      sourcesContent: false,
      logLevel: 'silent',
      write: false,
      metafile: true,
    });
    const outputs = new Map(outputFiles.map(({ path, text }) => [relative(root, path), text]));
    return new Map(
      names.map((name) => {
        const code = outputs.get(`${name}.js`) ?? '';
        const built: BuiltFunction = {
          code,
          inputs: inputsOf(metafile, `functions/${name}.ts`, root),
          write(directory) {
            mkdirSync(directory, { recursive: true });
            writeFileSync(join(directory, 'index.js'), `${code}//# sourceMappingURL=index.js.map\n`);
            writeFileSync(join(directory, 'index.js.map'), outputs.get(`${name}.js.map`) ?? '');
          },
        };
        return [name, built];
      }),
    );
  },
});

/** Builds bundles of individual functions. */
export type FunctionBuilder = ReturnType<typeof createFunctionBuilder>;

/** Returns the absolute paths of an entry point and of everything that it imports. */
export const inputsOf = ({ inputs }: Metafile, entry: string, root: string): ReadonlySet<string> => {
  const found = new Set<string>();
  const visit = (path: string): void => {
    const absolute = join(root, path);
    if (found.has(absolute)) return;
    found.add(absolute);
    for (const imported of inputs[path]?.imports ?? []) if (!imported.external) visit(imported.path);
  };
  visit(entry);
  return found;
};
