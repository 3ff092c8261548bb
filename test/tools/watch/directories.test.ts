import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { watchDirectories } from '../../../bin/local/watch/directories.ts';
import { until } from '../../support/until.ts';

let root: string;
let reports: string[][];
let end: () => void;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'watch-test-'));
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'folder/old.ts'), 'old');
  reports = [];
  end = watchDirectories([root], (paths) => reports.push(paths));
});
afterEach(() => {
  end();
  rmSync(root, { recursive: true });
});

const reported = (path: string) => until(() => reports.flat().includes(join(root, path)));

describe('the watch of directories', () => {
  it('reports a file that is written in place', async () => {
    writeFileSync(join(root, 'folder/old.ts'), 'new');
    await reported('folder/old.ts');
  });

  it('reports a file each time an editor saves it by renaming', async () => {
    for (const text of ['first', 'second']) {
      reports.length = 0;
      writeFileSync(join(root, 'folder/.old.ts.tmp'), text);
      renameSync(join(root, 'folder/.old.ts.tmp'), join(root, 'folder/old.ts'));
      await reported('folder/old.ts');
    }
  });

  it('reports files in new folders, whether they are created with the folder or later', async () => {
    mkdirSync(join(root, 'folder/new/deep'), { recursive: true });
    writeFileSync(join(root, 'folder/new/deep/first.ts'), '');
    await reported('folder/new/deep/first.ts');
    writeFileSync(join(root, 'folder/new/deep/second.ts'), '');
    await reported('folder/new/deep/second.ts');
  });

  it('reports files in a folder that was deleted and created again', async () => {
    rmSync(join(root, 'folder'), { recursive: true });
    await reported('folder/old.ts');
    mkdirSync(join(root, 'folder'));
    await reported('folder');
    writeFileSync(join(root, 'folder/again.ts'), '');
    await reported('folder/again.ts');
  });

  it('combines a burst of changes into one report', async () => {
    for (const name of ['a.ts', 'b.ts', 'c.ts']) writeFileSync(join(root, name), '');
    await reported('c.ts');
    expect(reports.map((paths) => paths.length)).toEqual([3]);
  });
});
