import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Script } from 'node:vm';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';

const ROOT = resolve(import.meta.dirname, '../..');
const CHECK = './bin/supported-node.ts';

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
const entryPoints = readdirSync(join(ROOT, 'bin')).filter((name) => name.endsWith('.ts'));

/** Runs a file as Node.js 20 reports itself; `args` come before the file. */
const runAsNode20 = async (...args: string[]) => {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  const preload = `data:text/javascript,${encodeURIComponent(pretend)}`;
  return promisify(execFile)(process.execPath, ['--import', preload, ...args], { cwd: ROOT }).then(
    () => ({ code: 0, stdout: '', stderr: '' }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  );
};

describe('an entry point', () => {
  it.each(entryPoints)(
    'is JavaScript in a CommonJS package, which every version of Node.js can run: bin/%s',
    (name) => {
      const source = readFileSync(join(ROOT, 'bin', name), 'utf8');
      expect(() => new Script(`(function (require) {${source}\n})`)).not.toThrow();
      expect(createRequire(import.meta.url)(join(ROOT, 'bin/package.json'))).toEqual({ type: 'commonjs' });
    },
  );

  it.each(entryPoints)('says in one sentence which Node.js to use if this one is too old: bin/%s', async (name) => {
    const { code, stdout, stderr } = await runAsNode20(`bin/${name}`);
    expect(stderr).toMatch(/^This project needs Node\.js 24, not 20\.20\.2: use "npm start" [^\n]*\.\n$/);
    expect([code, stdout]).toEqual([1, '']);
  });

  it('says how to install Node.js 24 if `npm ci --ignore-scripts` did not', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'entry-points-'));
    for (const name of ['package.json', 'supported-node.ts', 'start.ts'])
      cpSync(join(ROOT, 'bin', name), join(directory, 'bin', name));
    const { stderr } = await runAsNode20(join(directory, 'bin/start.ts'));
    rmSync(directory, { recursive: true });
    expect(stderr).toBe(
      'This project needs Node.js 24, not 20.20.2: run "npm ci" without --ignore-scripts, which installs it for this project, and then "npm start".\n',
    );
  });

  it('is what every npm script of this project runs, or has the same check', () => {
    const commands = Object.entries(scripts).flatMap(([name, script]) =>
      script.split(' && ').map((command): [string, string] => [name, command]),
    );
    const direct = commands.filter(([, command]) => /\bnode\b/.test(command));
    expect(direct.length).toBeGreaterThan(entryPoints.length);
    for (const [name, command] of direct)
      expect(command, name).toMatch(
        /^node ((--inspect )?bin\/[\w-]+\.ts|-r \.\/bin\/supported-node\.ts test\/[\w/-]+\.ts)$/,
      );
  });

  it('is checked before the tests, too', async () => {
    const { stderr } = await runAsNode20('node_modules/vitest/vitest.mjs', 'list', 'test/local/entry-points.test.ts');
    expect(stderr).toContain('This project needs Node.js 24, not 20.20.2');
    expect(readFileSync(join(ROOT, 'vitest.config.ts'), 'utf8')).toContain(`import '${CHECK}'`);
  });
});
