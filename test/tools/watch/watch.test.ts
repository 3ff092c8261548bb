import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { until } from '../../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** Several builds and syntheses, on a busy machine. */
const TIMEOUT_MS = 240_000;

const readyLine = z.object({ base_url: z.url(), tokens: z.object({ admin: z.string() }) });

/** A copy of the project, so that edits disturb no other test, and a directory for temporary files. */
let copy: string;
let temporary: string;
let child: ChildProcess;
let ready: z.infer<typeof readyLine>;
const log: string[] = [];

beforeAll(async () => {
  copy = mkdtempSync(join(tmpdir(), 'watch-test-'));
  temporary = mkdtempSync(join(tmpdir(), 'watch-test-'));
  for (const name of ['bin', 'lib', 'shared', 'functions', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const started = spawn(process.execPath, ['bin/start.ts', '--watch', '--json', '--port', '0'], {
    cwd: copy,
    env: { ...process.env, TMPDIR: temporary, SHARED_BUILDS: undefined },
  });
  child = started;
  createInterface(started.stderr).on('line', (line) => log.push(line));
  const exited = once(started, 'exit').then(() => Promise.reject(new Error(log.join('\n'))));
  const [line] = await Promise.race([once(createInterface(started.stdout), 'line'), exited]);
  exited.catch(() => {});
  ready = readyLine.parse(JSON.parse(z.string().parse(line)));
}, TIMEOUT_MS);
afterAll(async () => {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  const left = readdirSync(temporary);
  for (const directory of [copy, temporary]) rmSync(directory, { recursive: true });
  expect(left).toEqual([]);
});

const call = (path: string, body?: object) =>
  fetch(`${ready.base_url}${path}`, {
    headers: { 'X-Auth-Token': ready.tokens.admin },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
/** Saves a file as many editors do: writes another one and renames it. */
const edit = (file: string, before: string, after: string) => {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(before);
  writeFileSync(`${path}~`, text.replace(before, after));
  renameSync(`${path}~`, path);
};

describe('npm start -- --watch', () => {
  it(
    'serves a changed function while the notifications and the tokens remain',
    async () => {
      const details = { address: 'oncall@example.com' };
      const created = await call('/notifications', { label: 'On call', type: 'email', details });
      expect(created.status).toBe(201);
      expect((await call('/notification_types/email')).status).toBe(200);
      edit(
        'functions/get-notification-type.ts',
        'return ok(notificationTypeRecord(id));',
        `return ok({ edited: id });`,
      );
      await until(async () => (await (await call('/notification_types/email')).text()) === '{"edited":"email"}');
      expect(log.filter((line) => line.startsWith('watch: Replaced'))).toEqual([
        expect.stringMatching(/^watch: Replaced get-notification-type \(\d+\.\d s\)\.$/),
      ]);
      const { pathname } = new URL(created.headers.get('location') ?? '');
      expect((await call(pathname)).status).toBe(200);
    },
    TIMEOUT_MS,
  );

  it(
    'replaces no other sandbox if the template did not change',
    async () => {
      edit('lib/crashed-queue.ts', 'Duration.days(14)', 'Duration.hours(14 * 24)');
      await until(() => log.some((line) => line.includes('did not change')));
      expect(log.filter((line) => line.includes('Applied'))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'continues if the template prints something while it is synthesized',
    async () => {
      const checks = () => log.filter((line) => line.includes('The template ')).length;
      const earlier = checks();
      edit('lib/crashed-queue.ts', '/** Longer', "console.log('debugging');\n/** Longer");
      await until(() => checks() > earlier || child.exitCode !== null);
      expect(log.at(-1)).toContain('The template did not change');
    },
    TIMEOUT_MS,
  );

  it(
    'applies changed settings of the functions, and says that other changes of the template need a restart',
    async () => {
      edit('lib/service-function.ts', 'UV_THREADPOOL_SIZE: String(2 *', 'UV_THREADPOOL_SIZE: String(3 *');
      edit('lib/crashed-queue.ts', 'Duration.hours(14 * 24)', 'Duration.days(13)');
      await until(() => log.some((line) => line.includes('Restart')));
      expect(log.filter((line) => line.startsWith('watch: ')).slice(-2)).toEqual([
        expect.stringMatching(/^watch: Applied changed settings to \d+ functions\.$/),
        'watch: The queues of the template changed. Restart npm start to apply this.',
      ]);
      expect((await call('/notification_types/email')).status).toBe(200);
    },
    TIMEOUT_MS,
  );

  it(
    'says why the template cannot be synthesized',
    async () => {
      edit('lib/crashed-queue.ts', 'Duration.days(13)', 'Duration.nonsense(13)');
      await until(() => log.some((line) => line.includes('cannot be synthesized')));
      expect(log.at(-1)).toContain('Duration.nonsense is not a function');
      // The stack then stops during a synthesis, which must leave no files either.
      edit('lib/crashed-queue.ts', 'Duration.nonsense', 'Duration.days');
    },
    TIMEOUT_MS,
  );
});
