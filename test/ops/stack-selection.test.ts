import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { useStarted } from '../support/use-started.ts';
import { startAwsStub } from './aws-stub.ts';
import { commandLine, useDirectory } from './command-line.ts';

const directory = useDirectory();
const ops = commandLine(directory);
const aws = useStarted(startAwsStub, ({ stop }) => stop());
afterEach(() => {
  aws.stub.failure = undefined;
});

/**
 * Writes the files with which local stacks announce themselves, as processes of this test, and removes them after `use`.
 */
const withLocalStacks = async <Result>(
  stacks: readonly { pid: number; port: number; endpoint: string }[],
  use: () => Promise<Result>,
  outputs: object = aws.outputs,
): Promise<Result> => {
  const paths = stacks.map(({ pid }) => join(directory.path, `monitoring-notifications-${pid}.json`));
  for (const [index, path] of paths.entries()) {
    writeFileSync(path, JSON.stringify({ ...stacks[index], outputs }));
  }
  try {
    return await use();
  } finally {
    for (const path of paths) rmSync(path, { force: true });
  }
};

const PURGE = 'dead-letters purge sms --yes';
const localStack = (pid = process.pid, port = 3000) => ({ pid, port, endpoint: aws.url });

describe('a command that changes a stack', () => {
  it('uses the local stack if exactly one runs', async () => {
    const result = await withLocalStacks([localStack()], () => ops(PURGE));
    expect(result).toEqual({
      code: 0,
      out: 'Deleted 0 dead letters of sms in the local stack (API on port 3000).\n',
      err: 'Target: local stack (API on port 3000)\nDeletes 0 dead letters of sms in the local stack (API on port 3000).\n',
    });
  });

  it('uses none of several local stacks unless its port is given', async () => {
    const stacks = [localStack(), localStack(process.ppid, 3001)];
    const [unnamed, named] = await withLocalStacks(stacks, () =>
      Promise.all([ops(PURGE), ops(`${PURGE} --local 3001`)]),
    );
    expect(unnamed).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(
        /^Several local stacks run, with APIs on ports 300\d, 300\d: select one with --local PORT, or a deployed stack with --stack NAME\.\n$/,
      ),
    });
    expect(named).toMatchObject({ code: 0, err: expect.stringMatching(/^Target: local stack \(API on port 3001\)\n/) });
  });

  it('uses no local stack that has ended', async () => {
    const { code, err } = await withLocalStacks([localStack(2 ** 30, 3002)], () => ops(`${PURGE} --local 3002`));
    expect([code, err]).toEqual([1, 'No local stack runs with its API on port 3002: start one with `npm start`.\n']);
  });

  it('does not accept both --local and --stack', async () => {
    const { code, out, err } = await ops(`${PURGE} --local 3000 --stack Prod`, { env: aws.env });
    expect([code, out]).toEqual([2, '']);
    expect(err).toBe("error: option '--local <port>' cannot be used with option '--stack <name>'\n");
  });
});

describe('NOTIFICATIONS_STACK', () => {
  const targetOf = async (options: string) => {
    const env = { ...aws.env, NOTIFICATIONS_STACK: 'Prod' };
    const { err } = await withLocalStacks([localStack()], () => ops(`${PURGE}${options}`, { env }));
    return err.split(' (')[0];
  };

  it('names the stack of every command that does not', async () => {
    expect(await targetOf('')).toBe('Target: stack Prod');
    expect(await targetOf(' --stack MonitoringNotifications')).toBe('Target: stack MonitoringNotifications');
    expect(await targetOf(' --local 3000')).toBe('Target: local stack');
  });
});

describe('a deployed stack', () => {
  it.each([
    [{ QueueUrls: '{"sms":' }, 'QueueUrls'],
    [{ BaseUrl: undefined, TenantLimits: '{}' }, 'BaseUrl, TenantLimits'],
  ])('is not used without the outputs of this version', async (changes, missing) => {
    const outputs = { ...aws.outputs, ...changes };
    const { code, err } = await withLocalStacks([localStack()], () => ops('status'), outputs);
    expect([code, err]).toEqual([
      1,
      `The outputs of the local stack lack ${missing}: deploy this version, or use the command line of the deployed one.\n`,
    ]);
  });

  it('is found in the region of AWS_DEFAULT_REGION, which the AWS CLI reads', async () => {
    const { AWS_REGION: _, ...env } = aws.env;
    const { code } = await ops('status --stack Prod', { env: { ...env, AWS_DEFAULT_REGION: 'eu-central-1' } });
    expect(code).toBe(0);
  });
});

const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };

describe('an error before a deployed stack is found is one sentence that says what to do', () => {
  it.each([
    [
      'no region',
      {},
      'No AWS region is set: set AWS_REGION, or select a profile that has a region with AWS_PROFILE.\n',
    ],
    [
      'no credentials',
      { AWS_REGION: 'eu-west-1' },
      'There are no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.\n',
    ],
    [
      'a profile that does not exist',
      { AWS_REGION: 'eu-west-1', AWS_PROFILE: 'prod' },
      'There are no AWS credentials for the profile prod: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.\n',
    ],
    [
      'an endpoint that does not respond',
      { ...credentials, AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'http://127.0.0.1:1' },
      'No connection to http://127.0.0.1:1, the value of AWS_ENDPOINT_URL (connect ECONNREFUSED 127.0.0.1:1): unset it to use AWS.\n',
    ],
  ])('for %s', async (_, env, err) => {
    expect(await ops('status --stack Prod', { env })).toEqual({ code: 1, out: '', err });
  });

  it('for the default stack, after the reason why it is used', async () => {
    expect(await ops('status')).toEqual({
      code: 1,
      out: '',
      err: 'No local stack runs, and the deployed stack cannot be read: No AWS region is set: set AWS_REGION, or select a profile that has a region with AWS_PROFILE.\n',
    });
  });

  it.each([
    [
      'a stack that the account does not have',
      { code: 'ValidationError', message: 'Stack with id Prod does not exist' },
      'The account of the AWS credentials has no stack Prod in eu-central-1: check AWS_PROFILE, AWS_REGION and the name.\n',
    ],
    [
      'expired credentials',
      { code: 'ExpiredToken', message: 'The security token included in the request is expired' },
      'The AWS credentials have expired: sign in again, for example with `aws sso login`, or set new ones.\n',
    ],
    [
      'credentials that AWS rejects',
      { code: 'InvalidClientTokenId', message: 'The security token included in the request is invalid.' },
      'AWS rejects the credentials (InvalidClientTokenId): set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN only if they are temporary.\n',
    ],
    [
      'a missing permission',
      {
        code: 'AccessDenied',
        message:
          'User: arn:aws:iam::111111111111:user/dev is not authorized to perform: cloudformation:DescribeStacks on resource: arn:aws:cloudformation:eu-west-1:111111111111:stack/Prod/* because no identity-based policy allows the action',
      },
      'AWS denies cloudformation:DescribeStacks on arn:aws:cloudformation:eu-west-1:111111111111:stack/Prod/*: use credentials with this permission.\n',
    ],
  ])('for %s', async (_, failure, err) => {
    aws.stub.failure = failure;
    expect(await ops('status --stack Prod', { env: aws.env })).toEqual({ code: 1, out: '', err });
  });
});
