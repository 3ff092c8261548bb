import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { readDocument, root } from '../support/documents.ts';
import { isLocal, newTenant, tokenFor } from './support/api.ts';

const TIMEOUT_MS = 180_000;
const run = promisify(execFile);

/** The project of a client, with the compiler that `openapi-typescript` needs. */
const project = join(root, 'test/typed-client');
const { resolve } = createRequire(join(project, 'package.json'));
const programOf = (name: string, path: string): string => join(dirname(resolve(`${name}/package.json`)), path);

/** The example, with the address and a token of the running stack. */
const documentedProgram = (token: string): string => {
  const program = readDocument('docs/examples/client.ts');
  const filled = program.replace('http://127.0.0.1:3000', inject('stack').base_url).replace('mnt_…', token);
  expect(filled).toContain(token);
  return filled;
};

describe.runIf(isLocal)('a client with types generated from openapi.json', { timeout: TIMEOUT_MS }, () => {
  let directory: string;
  let token: string;
  beforeAll(async () => {
    token = await tokenFor(newTenant());
    // Inside the project, so that its packages are found.
    directory = mkdtempSync(join(project, 'run-'));
    for (const file of ['client.ts', 'tsconfig.json', 'package.json'])
      cpSync(join(project, file), join(directory, file));
    writeFileSync(join(directory, 'documented.ts'), documentedProgram(token));
    const generator = programOf('openapi-typescript', 'bin/cli.js');
    await run(process.execPath, [generator, join(root, 'openapi.json'), '-o', 'api.d.ts'], { cwd: directory });
  }, TIMEOUT_MS);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('compiles, while each wrong field, type, path and parameter in it does not', async () => {
    const compiler = programOf('typescript', 'bin/tsc');
    const compile = () =>
      run(process.execPath, [compiler, '-p', directory]).catch(({ stdout }: { stdout: string }) => ({ stdout }));
    expect((await compile()).stdout).toBe('');
  });

  it('calls the running stack', async () => {
    const { stdout } = await run(process.execPath, [join(directory, 'client.ts'), inject('stack').base_url, token]);
    expect(JSON.parse(stdout)).toEqual({
      read: ['Renamed', 'typed@example.com'],
      list: ['typed@example.com'],
      tests: ['success', 'success'],
      types: notificationTypeIds.length,
      fields: ['phone_number'],
      deliveries: 0,
      found: [[], 0],
      retried: 404,
      failed: [],
      redelivered: 0,
      contacts: ['typed@example.com'],
      secret: true,
      audited: ['rotate-signing-secret'],
      tokens: true,
      applied: ['return=representation', 'handling=strict'],
      errors: ['notFoundError', 'unauthorizedError'],
    });
  });

  it('works as docs/examples/client.ts shows it', async () => {
    const { stdout } = await run(process.execPath, [join(directory, 'documented.ts')]);
    expect(stdout).toBe('technicalContactsEmail Email All Technical Contacts\n');
  });
});
