import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DescribeTableCommand, DynamoDBClient, ListTablesCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { close, listen } from '../../bin/local/aws/http.ts';
import { localStackCommand } from '../support/local-stack-process.ts';

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

/** The directory for temporary files of the stack. */
const temporary = mkdtempSync(join(tmpdir(), 'local-stack-test-'));
afterAll(() => rmSync(temporary, { recursive: true }));

const start = (...options: string[]) => {
  const { file, args, options: spawnOptions } = localStackCommand(options, temporary);
  const child = spawn(file, args, spawnOptions);
  running.add(child);
  return child;
};
/** Returns the output and exit code of a start that fails. */
const failure = async (...options: string[]) => {
  const child = start(...options);
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { output, errors, code };
};

describe('npm start', () => {
  it('prints one line of JSON when ready and removes its files on SIGTERM', async () => {
    const child = start('--json', '--port', '0', '--base-path', '/v1.0/123456/', '-c', 'testsPerTenantPerDay=5');
    const ended = once(child, 'close');
    const output = text(child.stdout);
    await once(child.stdout, 'readable');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const lines = (await output).split('\n');
    expect(lines).toHaveLength(2);
    const ready = JSON.parse(lines[0] ?? '');
    expect(Object.keys(ready)).toEqual([
      'base_url',
      'tokens',
      'aws_endpoint',
      'alarm_queue_url',
      'inbox_url',
      'docs_url',
    ]);
    expect(ready.base_url).toMatch(/\/v1\.0\/123456$/);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('disables the capacity limits with --no-partition-limits', async () => {
    const child = start('--json', '--port', '0', '--no-partition-limits');
    await once(child.stdout, 'readable');
    const { aws_endpoint: endpoint } = JSON.parse(String(child.stdout.read()));
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
    const { TableNames: [TableName] = [] } = await client.send(new ListTablesCommand({}));
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    const key = Table?.KeySchema?.map(({ AttributeName }) => [AttributeName, { S: 'a' }]) ?? [];
    const Item = { ...Object.fromEntries(key), text: { S: 'x'.repeat(300 * 1024) } };
    const writes = Array.from({ length: 20 }, () => client.send(new PutItemCommand({ TableName, Item })));
    expect(await Promise.all(writes)).toHaveLength(20);
    client.destroy();
  });

  it('prints one sentence if its port is in use', async () => {
    const other = createServer();
    const port = await listen(other);
    const { output, errors, code } = await failure('--port', String(port));
    await close(other);
    expect({ output, errors, code }).toEqual({
      output: '',
      errors: `Port ${port} is already in use; choose another.\n`,
      code: 1,
    });
  });

  it.each([
    [['-c', 'mispelt=1', '--port', '0'], /^Invalid setting: "mispelt" is not a setting;.*\n$/],
    [['-c', 'nothing'], /must have the form name=value\.\n$/],
    [['--port', 'many'], /must be a number from 0 to 65535\.\n$/],
    [['--base-path', 'v1'], /must start with \/.*\n$/],
  ])('prints why %j is invalid', async (options, message) => {
    const { output, errors, code } = await failure(...options);
    expect(errors).toMatch(message);
    expect([output, code]).toEqual(['', 1]);
  });
});
