/**
 * `npm run test:rollback -- REF`: tests the release at the commit or tag REF with the data that this checkout stores.
 * Needs the history of the repository (in CI: a checkout with `fetch-depth: 0`), and installs the dependencies of REF if
 * they differ from those of this checkout.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { record, writeRecording } from './recording.ts';

const [ref] = process.argv.slice(2);
if (ref === undefined) {
  process.stderr.write('Usage: npm run test:rollback -- REF, the commit or tag of the release to roll back to.\n');
  process.exit(2);
}

const repository = resolve(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'rollback-'));
const release = join(directory, 'release');
const recording = join(directory, 'recording');

const installDependencies = (): void => {
  const lock = (path: string) => readFileSync(join(path, 'package-lock.json'), 'utf8');
  if (lock(release) === lock(repository)) symlinkSync(join(repository, 'node_modules'), join(release, 'node_modules'));
  else execFileSync('npm', ['ci'], { cwd: release, stdio: 'inherit' });
};

try {
  execFileSync('git', ['worktree', 'add', '--detach', release, ref], { cwd: repository, stdio: 'inherit' });
  installDependencies();
  writeRecording(recording, await record(repository));
  const { status } = spawnSync('npx', ['vitest', 'run', '--project=faults', 'test/upgrade'], {
    cwd: repository,
    env: { ...process.env, RELEASE: release, RECORDING: recording },
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} finally {
  spawnSync('git', ['worktree', 'remove', '--force', release], { cwd: repository });
  rmSync(directory, { recursive: true, force: true });
}
