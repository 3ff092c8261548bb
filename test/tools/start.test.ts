import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { close, listen } from 'local-aws/http.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { localStackCommand } from '../support/local-stack-process.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

const temporary = useStarted(
  () => ({ path: mkdtempSync(join(tmpdir(), 'local-stack-test-')) }),
  ({ path }) => rmSync(path, { recursive: true }),
);

const start = (...options: string[]) => {
  const { file, args, options: spawnOptions } = localStackCommand(options, temporary.path);
  const child = spawn(file, args, spawnOptions);
  running.add(child);
  return child;
};
const failure = async (...options: string[]) => {
  const child = start(...options);
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { output, errors, code };
};

describe('npm start', () => {
  it('says what it does while it starts, prints one line of JSON when ready, and removes its files on SIGTERM', async () => {
    const child = start('--json', '--port', '0', '--base-path', '/v1.0/123456/', '-c', 'testsPerTenantPerDay=5');
    const ended = once(child, 'close');
    const [output, errors] = [text(child.stdout), text(child.stderr)];
    await once(child.stdout, 'readable');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect((await errors).split('\n').slice(0, 3)).toEqual([
      'Loading the local AWS …',
      'Synthesizing the stack and bundling its functions …',
      'Creating tables and tokens …',
    ]);
    const lines = (await output).split('\n');
    expect(lines).toHaveLength(2);
    const ready = JSON.parse(lines[0] ?? '');
    expect(ready).toMatchObject({
      tokens: { admin: expect.any(String), other_admin: expect.any(String) },
      tenants: { admin: 'acme', creator: 'acme', observer: 'acme', other_admin: 'globex' },
      aws_environment: { AWS_ENDPOINT_URL: ready.aws_endpoint },
    });
    expect(ready.base_url).toMatch(/\/v1\.0\/123456$/);
    expect(readdirSync(temporary.path)).toEqual([]);
  });

  it('prints the tokens of each tenant, and commands that configure the AWS SDK in a shell', async () => {
    const child = start('--port', '0');
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    await until(() => output.includes('Ctrl-C'));
    const token = 'mnt_[\\w-]+';
    expect(output).toMatch(
      new RegExp(
        `\n  tenant acme\n    admin +${token}\n    creator +${token}\n    observer +${token}\n  tenant globex\n    admin +${token}\n`,
      ),
    );
    const pasted = output.split('\n').filter((line) => /^ +(export|unset) /.test(line));
    const client = `
      import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
      import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
      const { QueueUrls } = await new SQSClient().send(new ListQueuesCommand());
      const { TableNames } = await new DynamoDBClient().send(new ListTablesCommand());
      console.log(JSON.stringify([QueueUrls.length > 0, TableNames.length > 0]));`;
    const command = `"$0" --input-type=module --eval "$1"`;
    const shell = promisify(execFile)('sh', ['-ec', [...pasted, command].join('\n'), process.execPath, client], {
      cwd: new URL('../..', import.meta.url),
      // The environment of a user who works with a real account.
      env: { PATH: process.env.PATH, AWS_PROFILE: 'production', AWS_SESSION_TOKEN: 'x', AWS_REGION: 'eu-west-1' },
    });
    expect(JSON.parse((await shell).stdout)).toEqual([true, true]);
  });

  it('keeps notifications and tokens in the directory of --data, even if it is killed', async () => {
    const data = mkdtempSync(join(tmpdir(), 'start-data-'));
    const startWithData = async () => {
      const child = start('--json', '--port', '0', '--data', data);
      await once(child.stdout, 'readable');
      const { base_url: url, tokens } = JSON.parse(String(child.stdout.read()));
      return { child, url, tokens };
    };
    const first = await startWithData();
    const body = JSON.stringify({ label: 'Kept', type: 'email', details: { address: 'oncall@example.com' } });
    const headers = { 'X-Auth-Token': first.tokens.creator };
    const created = await fetch(`${first.url}/notifications`, { method: 'POST', headers, body });
    const { pathname } = new URL(created.headers.get('location') ?? '');
    first.child.kill('SIGKILL');
    await once(first.child, 'close');

    const second = await startWithData();
    expect(second.tokens).toEqual(first.tokens);
    const response = await fetch(`${second.url}${pathname}`, { headers });
    expect(await response.json()).toMatchObject({ label: 'Kept' });
    second.child.kill('SIGKILL');
    await once(second.child, 'close');
    rmSync(data, { recursive: true });
  });

  it('prints one sentence if its port is in use', async () => {
    const other = createServer();
    const port = await listen(other);
    const { output, errors, code } = await failure('--port', String(port));
    await close(other);
    expect({ output, errors, code }).toEqual({
      output: '',
      errors: `Loading the local AWS …\nPort ${port} is in use: pass --port with another number, or --port 0 for a free port.\n`,
      code: 1,
    });
  });

  it.each([
    [['-c', 'mispelt=1', '--port', '0'], /\nInvalid setting: "mispelt" is not a setting; the settings are .*\n$/],
    [['-c', 'nothing'], /must have the form name=value\.\n$/],
    [['--port', 'many'], /must be a number from 0 to 65535\.\n$/],
    [['--base-path', 'v1'], /must start with \/.*\n$/],
  ])('prints why %j is invalid', async (options, message) => {
    const { output, errors, code } = await failure(...options);
    expect(errors).toMatch(message);
    expect([output, code]).toEqual(['', 1]);
  });
});
