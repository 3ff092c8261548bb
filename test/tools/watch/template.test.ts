import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { synthesizeTemplate } from '../../../bin/local/watch/template.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'template-test-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(() => rmSync(directory, { recursive: true }));

it('reports a synthesis that prints something other than a template', async () => {
  vi.stubEnv('NODE_OPTIONS', `--import=data:text/javascript,console.log('debugging');process.exit()`);
  const synthesis = synthesizeTemplate({}, directory, new AbortController().signal);
  await expect(synthesis).rejects.toThrow(/is not valid JSON/);
});
