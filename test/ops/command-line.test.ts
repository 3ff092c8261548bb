import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { close, listen, origin } from '../../bin/local/aws/http.ts';
import { announce } from '../../bin/ops/local-stacks.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { commandLine, newDirectory } from './command-line.ts';

const directory = newDirectory();
const ops = commandLine(directory.path);

const file = (name: string, content: unknown): string => {
  const path = join(directory.path, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
};

/** The alarms of an account with two stacks, of which the name of one begins with that of the other. */
const alarms = [
  { AlarmName: 'Ours-Loud', StateValue: 'ALARM', StateUpdatedTimestamp: 1_800_000_000 },
  ...Array.from({ length: 120 }, (_, index) => ({ AlarmName: `Ours-Quiet${index}`, StateValue: 'OK' })),
  { AlarmName: 'Ours-Last', StateValue: 'ALARM', StateUpdatedTimestamp: 1_800_000_000 },
  { AlarmName: 'Ours-Staging-Loud', StateValue: 'ALARM' },
];
/** CloudWatch takes 100 names and returns up to 100 alarms to a page, 50 by default. */
const alarmRequest = z.object({
  AlarmNamePrefix: z.string().optional(),
  AlarmNames: z.array(z.string()).max(100).optional(),
  MaxRecords: z.number().max(100).default(50),
  NextToken: z.string().optional(),
});
/** A page may also be shorter than what was asked for. */
const LONGEST_PAGE = 60;

/** A crashed message as SQS moved it from a queue, until it is received. */
const crashedBody = JSON.stringify({ notification_id: 'ntA', event: { tenant_id: 'acme', event_id: 'ev1' } });
const crashedMessages = [
  {
    MessageId: 'crashed-1',
    ReceiptHandle: 'receipt',
    Body: crashedBody,
    MD5OfBody: createHash('md5').update(crashedBody).digest('hex'),
    Attributes: {
      SentTimestamp: '1800000000000',
      MessageGroupId: 'acme',
      DeadLetterQueueSourceArn: 'arn:aws:sqs:eu-west-1:1:sms-retries',
    },
  },
];

/** An AWS with one stack: its outputs, an alarm that is loud and one that is not, and two deliveries of the last hour. */
const region: string[] = [];
const described = z.object({ MetricDataQueries: z.array(z.object({ Id: z.string(), MetricStat: z.unknown() })) });
/** Accounts that were read once: AWS refuses to read them again. It also refuses to change the account `locked`. */
const accountsRead = new Set<string>();
const accountRequest = z.object({ Key: z.object({ pk: z.object({ S: z.string() }) }) });
const isRefused = (action: string, body: string): boolean => {
  if (action !== 'GetItem' && action !== 'UpdateItem') return false;
  const { S: account } = accountRequest.parse(JSON.parse(body)).Key.pk;
  if (action === 'UpdateItem') return account === 'account#locked';
  const isRepeated = accountsRead.has(account);
  accountsRead.add(account);
  return isRepeated;
};
const answers: Record<string, (body: string) => unknown> = {
  DescribeAlarms: (body) => {
    const { AlarmNamePrefix: prefix = '', AlarmNames: names, ...page } = alarmRequest.parse(JSON.parse(body));
    const found = alarms.filter(({ AlarmName: name }) => names?.includes(name) ?? name.startsWith(prefix));
    const start = Number(page.NextToken ?? 0);
    const end = start + Math.min(page.MaxRecords, LONGEST_PAGE);
    return { MetricAlarms: found.slice(start, end), ...(end < found.length && { NextToken: String(end) }) };
  },
  ReceiveMessage: (body) => ({ Messages: body.includes('/crashed"') ? crashedMessages.splice(0) : [] }),
  GetItem: () => ({}),
  UpdateItem: () => ({}),
  ChangeMessageVisibilityBatch: () => ({ Successful: [], Failed: [] }),
  GetMetricData: (body) => ({
    MetricDataResults: described.parse(JSON.parse(body)).MetricDataQueries.map(({ Id, MetricStat }) => {
      const metric = JSON.stringify(MetricStat);
      const isAsked = metric.includes('"delivered"') && metric.includes('"Ours"') && metric.includes('"sms"');
      const isAge = metric.includes('ApproximateAgeOfOldestMessage') && metric.includes('"email"');
      return { Id, Values: isAsked ? [1, 1] : isAge ? [42] : [] };
    }),
  }),
  GetQueueAttributes: (body) => ({
    Attributes: body.includes('-retries')
      ? { ApproximateNumberOfMessages: '2', ApproximateNumberOfMessagesDelayed: '5' }
      : { ApproximateNumberOfMessages: '7' },
  }),
};
const cloud = createServer(async (request, response) => {
  const body = await text(request);
  region.push(/Credential=[^/]*\/[^/]*\/([^/]*)/.exec(request.headers.authorization ?? '')?.[1] ?? '');
  const action = String(request.headers['x-amz-target']).split('.')[1] ?? '';
  const answer = answers[action];
  if (isRefused(action, body)) {
    response.statusCode = 400;
    return response.end(JSON.stringify({ __type: 'AccessDeniedException', message: 'not allowed' }));
  }
  if (answer) return response.end(JSON.stringify(answer(body)));
  const form = new URLSearchParams(body);
  if (form.get('Action') === 'ListStackResources') {
    const names = alarms.map(({ AlarmName }) => AlarmName).filter((name) => name.split('-').length === 2);
    const members = [...names.map((name) => ['AWS::CloudWatch::Alarm', name]), ['AWS::SQS::Queue', 'Ours-Queue']]
      .map(
        ([type, name]) =>
          `<member><ResourceType>${type}</ResourceType><PhysicalResourceId>${name}</PhysicalResourceId></member>`,
      )
      .join('');
    return response.end(
      `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>${members}</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`,
    );
  }
  const values = Object.entries(outputs)
    .map(([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`)
    .join('');
  if (form.get('StackName') !== 'Ours') {
    response.statusCode = 400;
    return response.end(
      '<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id Other does not exist</Message></Error></ErrorResponse>',
    );
  }
  return response.end(
    `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>Ours</StackName><CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${values}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
  );
});
const aws = origin(await listen(cloud));
const env = {
  AWS_ENDPOINT_URL: aws,
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_REGION: 'eu-central-1',
};

const queue = (name: string) => ({
  queue: `${aws}/1/${name}`,
  deadLetters: `${aws}/1/${name}-dead`,
  ...(name !== 'alarm-events' && { retries: `${aws}/1/${name}-retries` }),
});
/** The outputs of a stack that is deployed. */
const outputs = {
  AlarmEventsQueueArn: 'arn:aws:sqs:eu-west-1:000000000000:events',
  NotificationsTable: 'notifications',
  AccountsTable: 'accounts',
  TokensTable: 'tokens',
  DeliveriesTable: 'deliveries',
  QueueUrls: JSON.stringify(
    Object.fromEntries([
      ...['alarm-events', ...notificationTypeIds].map((name) => [name, queue(name)]),
      ...['email-events', 'crashed'].map((name) => [name, { queue: `${aws}/1/${name}` }]),
    ]),
  ),
};

afterAll(async () => {
  await close(cloud);
  directory.remove();
});

const commands = [
  'token create',
  'token list',
  'token revoke',
  'account show',
  'account set',
  'account rotate-signing-secret',
  'event example',
  'event send',
  'deliveries',
  'dead-letters list',
  'dead-letters redrive',
  'dead-letters purge',
  'status',
];

describe('the command line', () => {
  it('explains itself', async () => {
    const { code, out, err } = await ops('--help');
    expect([code, err]).toEqual([0, '']);
    for (const word of ['token', 'account', 'event', 'deliveries', 'dead-letters', 'status', '--json', 'Exit codes']) {
      expect(out).toContain(word);
    }
  });

  it('explains every command with an example', async () => {
    const pages = await Promise.all(commands.map((command) => ops(`${command} --help`)));
    for (const [index, { code, out }] of pages.entries()) {
      expect(code).toBe(0);
      expect(out).toContain(`npm run -s ops -- ${commands[index]}`);
      expect(out).toContain('--outputs <file>');
    }
  });

  it.each([
    ['unheard-of', "error: unknown command 'unheard-of'\n"],
    ['token revoke --tenant acme', "error: missing required argument 'id'\n"],
    ['token list', "error: required option '--tenant <tenant>' not specified\n"],
    ['token revoke 12 --tenant acme', /first 8 hexadecimal digits/],
    ['token create --tenant a --role king --label x', /Allowed choices are admin, creator, observer\.\n$/],
    ['status --loud', "error: unknown option '--loud'\n"],
  ])('ends with 2 and one sentence where it is not well asked: %s', async (command, sentence) => {
    const { code, out, err } = await ops(command);
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: expect.stringMatching(sentence) });
    expect(err.split('\n')).toHaveLength(2);
  });
});

describe('the stack that a command works on', () => {
  const local = (pid: number, port: number) => announce({ pid, port, endpoint: 'http://127.0.0.1:1', outputs });

  it('is, where no local one runs, the deployed one, to which there must be a way', async () => {
    const { code, out, err } = await ops('status');
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^No local stack runs, and there is no way to the deployed one: .+\n$/);
    expect(err.split('\n')).toHaveLength(2);
  });

  it('is found by its name, with alarms and deliveries from CloudWatch', async () => {
    region.length = 0;
    const { code, out, err } = await ops('status --stack Ours', { env });
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^stack Ours\n/);
    expect(out).toMatch(/\nalarm-events +7 +0 +0 +– +7\n/);
    // Its retries are counted with it: two are due, and five wait.
    expect(out).toMatch(/\nemail +9 +0 +5 +42 s +7\n/);
    // Both have no dead-letter queue of their own.
    expect(out).toMatch(/\nemail-events +7 +0 +0 +– +–\ncrashed +7 +0 +0 +– +–\n/);
    expect(out).toMatch(
      /\nOurs-Loud +ALARM +2027-01-15T08:00:00Z\nOurs-Last +ALARM +2027-01-15T08:00:00Z\n120 alarms OK\n/,
    );
    expect(out).not.toContain('Staging');
    expect(out).toMatch(/\ntype +delivered\nsms +2\n$/);
    expect(new Set(region)).toEqual(new Set(['eu-central-1', 'eu-west-1']));
  });

  it('has crashed messages, listed with the queues from which SQS moved them', async () => {
    const { code, out, err } = await ops('dead-letters list crashed --stack Ours', { env });
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^crashed: 7 dead letters, of which 1 are listed \(received too often ×1\)\n/);
    expect(out).toMatch(/\ntime .* event +source\n2027-01-15T08:00:00Z +crashed +.* acme +ntA +ev1 +sms retries\n$/);
  });

  it('is not found by a name that no stack has', async () => {
    const err = 'ValidationError: Stack with id Other does not exist\n';
    expect(await ops('status --stack Other', { env })).toEqual({ code: 1, out: '', err });
  });

  it('is found by a file of outputs, of several stacks by its name', async () => {
    const path = file('outputs.json', { Other: {}, Ours: outputs });
    const { code, out } = await ops(`status --json --outputs ${path} --stack Ours`, { env });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ stack: 'stack Ours', queues: expect.arrayContaining([]) });
    const unnamed = await ops(`status --outputs ${path}`, { env });
    expect(unnamed).toMatchObject({ code: 1, err: expect.stringMatching(/has no stack .*, only Other, Ours\.\n$/) });
  });

  it.each([
    [{ Ours: {} }, /^The outputs of stack Ours lack AlarmEventsQueueArn, .*QueueUrls: deploy this version/],
    [{ Ours: { ...outputs, QueueUrls: '{"sms":' } }, /^The outputs of stack Ours lack QueueUrls: deploy this version/],
    [[1], /is no file of `cdk deploy --outputs-file`\.\n$/],
  ])('is not found by a file that has something else', async (content, sentence) => {
    const path = file('wrong.json', content);
    expect(await ops(`status --outputs ${path}`)).toEqual({ code: 1, out: '', err: expect.stringMatching(sentence) });
  });

  it('is chosen among several local ones by the port of its API; those that are gone do not count', async () => {
    vi.stubEnv('TMPDIR', directory.path);
    const remove = [local(process.pid, 3000), local(process.ppid, 3001), local(2 ** 30, 3002)];
    vi.unstubAllEnvs();
    const many = await ops('status');
    expect(many).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/ports 300\d, 300\d: choose one/) });
    expect(await ops('status --local 3002')).toMatchObject({
      code: 1,
      err: 'No local stack runs with its API on port 3002.\n',
    });
    // What is written there leads nowhere, but it is where the command goes.
    expect(await ops('status --local 3001')).toMatchObject({ code: 1, err: expect.stringMatching(/127\.0\.0\.1:1/) });
    for (const one of remove) one();
  });
});

describe('a change of an account', () => {
  it('that failed, and after which the account cannot be read, ends with the command to run before it is repeated', async () => {
    expect(await ops('account rotate-signing-secret locked --stack Ours', { env })).toEqual({
      code: 1,
      out: '',
      err: 'It is unknown whether the account was changed. Run `npm run -s ops -- account show locked --secrets` before you repeat the command.\n',
    });
  });

  it('that made a new secret, after which the account cannot be read, ends with the command that shows the secret', async () => {
    expect(await ops('account rotate-signing-secret acme --stack Ours', { env })).toEqual({
      code: 1,
      out: '',
      err: 'The signing secret was replaced, but the account cannot be read. Run `npm run -s ops -- account show acme --secrets` to see the new secret.\n',
    });
  });
});
