import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { bundling } from '../../lib/bundles.ts';
import { meanStart, msByGroup, totalMs } from '../bench/cold-start/cpu-profile.ts';
import { flameGraph } from '../bench/cold-start/flame-graph.ts';
import { useStarted } from '../support/use-started.ts';

/** A bundle of `shared/domain/error-code.ts`. */
const bundle = useStarted(
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'profile-'));
    const file = join(directory, 'index.js');
    const contents = "export { errorCode } from './shared/domain/error-code.ts';";
    const stdin = { contents, resolveDir: bundling.absWorkingDir };
    buildSync({ ...bundling, minify: false, stdin, outfile: file, sourcemap: 'external' });
    return { directory, file };
  },
  ({ directory }) => rmSync(directory, { recursive: true, force: true }),
);

const frame = (functionName: string, url = '', lineNumber = 0, columnNumber = 0) => ({
  callFrame: { functionName, url, lineNumber, columnNumber },
});

/** A profile of one start: 2 ms of compiling, and 4 ms at a position of the bundle, of which 1 ms is native. */
const profile = (lineNumber: number): string =>
  JSON.stringify({
    nodes: [
      { id: 1, ...frame('(root)'), children: [2, 3] },
      { id: 2, ...frame('wrapSafe', 'node:internal/modules/cjs/loader') },
      { id: 3, ...frame('<code>', bundle.file, lineNumber, 4), children: [4] },
      { id: 4, ...frame('parse') },
    ],
    samples: [2, 3, 4],
    timeDeltas: [2_000, 3_000, 1_000],
  });

/** Returns the line of a function in the bundle, from 0. */
const lineInBundle = (): number =>
  readFileSync(bundle.file, 'utf8')
    .split('\n')
    .findIndex((line) => line.includes('errorCode = ('));

describe('the profile of cold starts', () => {
  it('attributes time to compiling and to the folder of a source, with the native functions that it calls', () => {
    const text = profile(lineInBundle());
    const root = meanStart(bundle.file, [text, text]);
    expect(totalMs(root)).toBe(6);
    expect(msByGroup(root).get('compiling the bundle')).toBe(2);
    expect(msByGroup(root).get('shared/domain')).toBe(4);
  });

  it('is drawn as valid XML with a box for each function, as wide as its time', () => {
    const root = meanStart(bundle.file, [profile(lineInBundle())]);
    const svg = flameGraph(root, 'a start & more');
    expect(svg).toContain('<title>a start &amp; more</title>');
    expect(svg).toMatch(/<title>&lt;code&gt; – shared\/domain: 4\.0 ms<\/title><rect x="400\.0" y="49" width="799\.7"/);
    expect(svg).not.toContain('<code>');
  });
});
