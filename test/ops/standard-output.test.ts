import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

/** Runs `event example` in a shell, with standard output as in `redirection`. */
const example = (redirection: string) => {
  const command = `set -o pipefail; "$0" bin/ops.ts event example ${redirection}`;
  const options = { cwd: resolve(import.meta.dirname, '../..'), encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync('bash', ['-c', command, process.execPath], options);
  return { status, stderr };
};

it('fails if the output cannot be written, for example because the disk is full', () => {
  expect(example('> /dev/full')).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^The output cannot be written: ENOSPC.*\n$/),
  });
});

it('ends without an error if the reader of a pipe closes it', () => {
  expect(example('| true')).toEqual({ status: 0, stderr: '' });
});
