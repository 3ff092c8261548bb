import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MovableClock } from 'local-aws/clock.ts';
import type { FunctionSettings } from 'local-aws/lambda/environment.ts';
import { createLambda, type Lambda } from 'local-aws/lambda/lambda.ts';
import { loggingConfig } from 'local-aws/lambda/logging.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFunctionBuilder } from '../../../bin/local/watch/function-builder.ts';
import { createRebuilder, type Rebuilder } from '../../../bin/local/watch/rebuild.ts';
import { bundling } from '../../../lib/bundles.ts';
import { until } from '../../support/until.ts';

let root: string;
let lambda: Lambda;
let rebuilder: Rebuilder;
let log: string[];
let printed: string[];

const path = (name: string) => join(root, name);
const write = (name: string, text: string) => writeFileSync(path(name), text);
/** Saves a file and waits for the rebuild. */
const save = (name: string, text: string) => {
  write(name, text);
  return rebuilder.filesChanged([path(name)]);
};
const invoke = async (name: string, event: unknown = {}): Promise<unknown> => {
  const { payload } = await lambda.invoke(`Stack-${name}`, JSON.stringify(event));
  return JSON.parse(payload);
};
/** The results do not have the times of the builds. */
const logged = () => log.map((line) => line.replace(/ \([\d.]+ s\)/, ''));

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'rebuild-test-'));
  for (const folder of ['functions', 'shared']) mkdirSync(path(folder));
  write('shared/text.ts', `export const text: string = 'first';`);
  // The number of calls shows whether a sandbox was kept.
  write('functions/uses.ts', `import { text } from '../shared/text.ts'; export const handler = async () => text;`);
  write('functions/counts.ts', `let calls = 0; export const handler = async () => ++calls;`);
  write(
    'functions/waits.ts',
    `import { text } from '../shared/text.ts';
     export const handler = async (event: { ms: number }, context: { getRemainingTimeInMillis(): number }) => {
       console.log('waiting');
       while (context.getRemainingTimeInMillis() > event.ms) await new Promise(setImmediate);
       return text;
     };`,
  );
  const names = ['uses', 'counts', 'waits'];
  const builder = createFunctionBuilder(root, bundling);
  const built = await builder.build(names);
  const functions = new Map(
    names.map((name): [string, FunctionSettings] => {
      const directory = path(`bundles/${name}`);
      built.get(name)?.write(directory);
      const arn = `arn:aws:lambda:us-east-1:000000000000:function:Stack-${name}`;
      const logging = loggingConfig.parse(undefined);
      const settings = { handler: 'index.handler', timeoutSeconds: 60, memoryMb: 512, logging, environment: {} };
      return [name, { ...settings, name: `Stack-${name}`, arn, directory }];
    }),
  );
  log = [];
  printed = [];
  lambda = createLambda({
    functions: [...functions.values()],
    concurrency: () => 4,
    endpointUrl: 'http://127.0.0.1:9',
    clock: new MovableClock(),
    log: (line) => printed.push(line),
  });
  mkdirSync(path('rebuilt'));
  rebuilder = createRebuilder({
    builder,
    inputsOf: (name) => built.get(name)?.inputs ?? new Set(),
    functions,
    lambda,
    directory: path('rebuilt'),
    log: (line) => log.push(line),
  });
});
afterEach(async () => {
  await lambda.stop();
  rmSync(root, { recursive: true });
});

describe('a change of a source', () => {
  it('replaces the sandboxes of the functions that contain it, and no other', async () => {
    expect(await Promise.all([invoke('uses'), invoke('counts')])).toEqual(['first', 1]);
    await save('shared/text.ts', `export const text = 'second';`);
    expect(await Promise.all([invoke('uses'), invoke('counts')])).toEqual(['second', 2]);
    expect(logged()).toEqual(['Replaced uses.', 'Replaced waits.']);
  });

  it('keeps the sandboxes if it does not change the code', async () => {
    await invoke('counts');
    await save('functions/counts.ts', `let calls = 0; export const handler = async () => ++calls; // comment`);
    expect(await invoke('counts')).toBe(2);
    expect(logged()).toEqual(['The code of counts did not change.']);
  });

  it('does nothing if no function contains it', async () => {
    await save('shared/other.ts', 'export {};');
    expect(log).toEqual([]);
  });

  it('lets running invocations complete with the earlier code, and then ends their sandbox', async () => {
    const running = invoke('waits', { ms: 30_000 });
    await until(() => printed.length === 1);
    await save('shared/text.ts', `export const text = 'second';`);
    expect(await invoke('waits', { ms: 60_000 })).toBe('second');
    expect(lambda.sandboxes('Stack-waits')).toBe(2);
    lambda.reduceRemainingTime('Stack-waits', 40_000);
    expect(await running).toBe('first');
    await until(() => lambda.sandboxes('Stack-waits') === 1);
    expect(await invoke('waits', { ms: 60_000 })).toBe('second');
  });

  it('deletes the code that no sandbox uses any more', async () => {
    for (const text of ['second', 'third', 'fourth']) {
      await save('shared/text.ts', `export const text = '${text}';`);
      expect(await invoke('uses')).toBe(text);
    }
    await until(() => readdirSync(path('rebuilt')).length === 2);
    expect(existsSync(path('bundles/uses/index.js'))).toBe(true);
  });

  it('is discarded if the stack stops during the build', async () => {
    const change = save('shared/text.ts', `export const text = 'second';`);
    await rebuilder.close();
    await change;
    expect([readdirSync(path('rebuilt')), log]).toEqual([[], []]);
  });

  it('writes a source map with the paths of the sources', async () => {
    await save('functions/counts.ts', `export const handler = async () => { throw new Error('here'); };`);
    const [directory = ''] = readdirSync(path('rebuilt'));
    expect(readFileSync(path(`rebuilt/${directory}/index.js`), 'utf8')).toMatch(
      /\/\/# sourceMappingURL=index\.js\.map\s*$/,
    );
    const map: unknown = JSON.parse(readFileSync(path(`rebuilt/${directory}/index.js.map`), 'utf8'));
    expect(map).toMatchObject({ sourceRoot: `file://${root}/`, sources: ['functions/counts.ts'] });
  });
});

describe('a compile error', () => {
  it('is reported with file and line, and the earlier code continues until the fix', async () => {
    await invoke('uses');
    await save('shared/text.ts', `export const text = 'second;\n`);
    expect(await invoke('uses')).toBe('first');
    expect(log).toEqual([
      expect.stringMatching(
        /^The functions continue with their last code: shared\/text\.ts:1:\d+: Unterminated string literal$/,
      ),
    ]);
    await save('shared/text.ts', `export const text = 'third';`);
    expect(await invoke('uses')).toBe('third');
  });

  it('is fixed by a file that no function contains yet', async () => {
    await save(
      'functions/uses.ts',
      `import { added } from '../shared/added.ts'; export const handler = async () => added;`,
    );
    expect(log).toEqual([expect.stringContaining('functions/uses.ts:1:22: Could not resolve "../shared/added.ts"')]);
    await save('shared/added.ts', `export const added = 'added';`);
    expect(await invoke('uses')).toBe('added');
    await save('shared/added.ts', `export const added = 'changed';`);
    expect(await invoke('uses')).toBe('changed');
  });

  it('that is fixed during the build is picked up', async () => {
    write('shared/text.ts', `export const text = 'second;\n`);
    const failing = rebuilder.filesChanged([path('shared/text.ts')]);
    await Promise.all([failing, save('shared/text.ts', `export const text = 'third';`)]);
    expect(await invoke('uses')).toBe('third');
  });
});
