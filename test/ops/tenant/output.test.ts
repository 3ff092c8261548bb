import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const MODULE = resolve(import.meta.dirname, '../../../bin/ops/tenant/output.ts');

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'output-test-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

it('fails if only a part of a text fits on the disk, which a limit of the file size simulates', () => {
  const script = `
    import { createFile } from ${JSON.stringify(MODULE)};
    process.on('SIGXFSZ', () => undefined);
    const output = createFile(${JSON.stringify(join(directory, 'file'))});
    await output.write('x'.repeat(900));
    await output.write('x'.repeat(900));
  `;
  // The unit of the limit is 1,024 bytes in bash.
  const command = 'ulimit -f 1; exec "$0" --input-type=module --eval "$1"';
  const { status, stderr } = spawnSync('bash', ['-c', command, process.execPath, script], { encoding: 'utf8' });
  expect(stderr).toContain('EFBIG');
  expect(status).not.toBe(0);
});
