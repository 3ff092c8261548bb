import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { close, listen, origin } from 'local-aws/http.ts';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { announce } from '../../bin/ops/local-stacks.ts';
import { createProgram } from '../../bin/ops/program.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { useStarted } from '../support/use-started.ts';
import { commandLine, commandNames, useDirectory } from './command-line.ts';

const directory = useDirectory();
const ops = commandLine(directory);

const file = (name: string, content: unknown): string => {
  const path = join(directory.path, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
};

/** The alarms of an account with two stacks, Prod and Prod-Staging: one name is a prefix of the other. */
const alarms = [
  { AlarmName: 'Prod-First', StateValue: 'ALARM', StateUpdatedTimestamp: 1_800_000_000 },
  ...Array.from({ length: 120 }, (_, index) => ({ AlarmName: `Prod-Ok${index}`, StateValue: 'OK' })),
  { AlarmName: 'Prod-Last', StateValue: 'ALARM', StateUpdatedTimestamp: 1_800_000_000 },
  { AlarmName: 'Prod-Staging-First', StateValue: 'ALARM' },
];
/** CloudWatch accepts 100 names, and returns up to 100 alarms per page, 50 by default. */
const alarmRequest = z.object({
  AlarmNamePrefix: z.string().optional(),
  AlarmNames: z.array(z.string()).max(100).optional(),
  MaxRecords: z.number().max(100).default(50),
  NextToken: z.string().optional(),
});
/** A page may be shorter than requested. */
const MAX_PAGE_SIZE = 60;

/** A message that SQS moved to the crashed queue. It can be received once. */
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

/** The regions in the credentials of all requests. */
const regions: string[] = [];
const metricRequest = z.object({ MetricDataQueries: z.array(z.object({ Id: z.string(), MetricStat: z.unknown() })) });
/** Accounts that were read once: the server denies reading them again. */
const accountsRead = new Set<string>();
const accountRequest = z.object({ Key: z.object({ pk: z.object({ S: z.string() }) }) });
const isDenied = (action: string, body: string): boolean => {
  if (action !== 'GetItem') return false;
  const { S: account } = accountRequest.parse(JSON.parse(body)).Key.pk;
  const isRepeated = accountsRead.has(account);
  accountsRead.add(account);
  return isRepeated;
};
const responses: Record<string, (body: string) => unknown> = {
  DescribeAlarms: (body) => {
    const { AlarmNamePrefix: prefix = '', AlarmNames: names, ...page } = alarmRequest.parse(JSON.parse(body));
    const found = alarms.filter(({ AlarmName: name }) => names?.includes(name) ?? name.startsWith(prefix));
    const start = Number(page.NextToken ?? 0);
    const end = start + Math.min(page.MaxRecords, MAX_PAGE_SIZE);
    return { MetricAlarms: found.slice(start, end), ...(end < found.length && { NextToken: String(end) }) };
  },
  ReceiveMessage: (body) => ({ Messages: body.includes('/crashed"') ? crashedMessages.splice(0) : [] }),
  GetItem: () => ({}),
  TransactWriteItems: () => ({}),
  ChangeMessageVisibilityBatch: () => ({ Successful: [], Failed: [] }),
  GetMetricData: (body) => ({
    MetricDataResults: metricRequest.parse(JSON.parse(body)).MetricDataQueries.map(({ Id, MetricStat }) => {
      const metric = JSON.stringify(MetricStat);
      const isDelivered =
        /"delivery_latency".*"SampleCount"/.test(metric) && metric.includes('"Prod"') && metric.includes('"sms"');
      const isAge = metric.includes('ApproximateAgeOfOldestMessage') && metric.includes('"email"');
      return { Id, Values: isDelivered ? [1, 1] : isAge ? [42] : [] };
    }),
  }),
  GetQueueAttributes: (body) => ({
    Attributes: body.includes('-retries')
      ? { ApproximateNumberOfMessages: '2', ApproximateNumberOfMessagesDelayed: '5' }
      : { ApproximateNumberOfMessages: '7' },
  }),
};
/** A stub of AWS with one deployed stack, Prod. Its metrics count two deliveries in the last hour. */
const server = createServer(async (request, response) => {
  const body = await text(request);
  regions.push(/Credential=[^/]*\/[^/]*\/([^/]*)/.exec(request.headers.authorization ?? '')?.[1] ?? '');
  const action = String(request.headers['x-amz-target']).split('.')[1] ?? '';
  const respond = responses[action];
  if (isDenied(action, body)) {
    response.statusCode = 400;
    return response.end(JSON.stringify({ __type: 'AccessDeniedException', message: 'not allowed' }));
  }
  if (action === 'TransactWriteItems' && body.includes('account#locked')) {
    response.statusCode = 500;
    return response.end(JSON.stringify({ __type: 'InternalServerError', message: 'try again' }));
  }
  if (respond) return response.end(JSON.stringify(respond(body)));
  const form = new URLSearchParams(body);
  if (form.get('Action') === 'ListStackResources') {
    const names = alarms.map(({ AlarmName }) => AlarmName).filter((name) => name.split('-').length === 2);
    const members = [...names.map((name) => ['AWS::CloudWatch::Alarm', name]), ['AWS::SQS::Queue', 'Prod-Queue']]
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
  if (form.get('StackName') !== 'Prod') {
    response.statusCode = 400;
    return response.end(
      '<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id Other does not exist</Message></Error></ErrorResponse>',
    );
  }
  return response.end(
    `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>Prod</StackName><CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${values}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
  );
});
const aws = useStarted(
  async () => ({ url: origin(await listen(server)) }),
  () => close(server),
);
const env = {
  get AWS_ENDPOINT_URL() {
    return aws.url;
  },
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_REGION: 'eu-central-1',
};

const queue = (name: string) => ({
  queue: `${aws.url}/1/${name}`,
  deadLetters: `${aws.url}/1/${name}-dead`,
  ...(name !== 'alarm-events' && { retries: `${aws.url}/1/${name}-retries` }),
});
/** The outputs of the stack Prod. */
const outputs = {
  AlarmEventsQueueArn: 'arn:aws:sqs:eu-west-1:000000000000:events',
  NotificationsTable: 'notifications',
  AccountsTable: 'accounts',
  TokensTable: 'tokens',
  DeliveriesTable: 'deliveries',
  SourceMapsBucket: 'maps',
  Releases: '{}',
  get QueueUrls() {
    return JSON.stringify(
      Object.fromEntries([
        ...['alarm-events', ...notificationTypeIds].map((name) => [name, queue(name)]),
        ...['email-events', 'crashed'].map((name) => [name, { queue: `${aws.url}/1/${name}` }]),
      ]),
    );
  },
};

describe('the command line', () => {
  it('prints help', async () => {
    const { code, out, err } = await ops('--help');
    expect([code, err]).toEqual([0, '']);
    for (const text of [
      'token',
      'account',
      'event',
      'deliveries',
      'dead-letters',
      'status',
      'trace',
      '--json',
      'Exit codes',
    ]) {
      expect(out).toContain(text);
    }
  });

  it('prints help with an example for every command', async () => {
    const commands = commandNames(createProgram());
    const pages = await Promise.all(commands.map((command) => ops(`${command} --help`)));
    for (const [index, { code, out }] of pages.entries()) {
      expect(code).toBe(0);
      expect(out).toContain(`npm run -s ops -- ${commands[index]}`);
      expect(out).toContain('--outputs <file>');
    }
  });

  it.each([
    ['unknown', "error: unknown command 'unknown'\n"],
    ['token revoke --tenant acme', "error: missing required argument 'id'\n"],
    ['token list', "error: required option '--tenant <tenant>' not specified\n"],
    ['token revoke 12 --tenant acme', /first 8 hexadecimal digits/],
    ['token create --tenant a --role king --label x', /Allowed choices are admin, creator, observer\.\n$/],
    ['status --unknown', "error: unknown option '--unknown'\n"],
  ])('exits with 2 and a one-line error for the invalid command %s', async (command, message) => {
    const { code, out, err } = await ops(command);
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: expect.stringMatching(message) });
    expect(err.split('\n')).toHaveLength(2);
  });
});

describe('the stack that a command operates on', () => {
  const local = (pid: number, port: number) => announce({ pid, port, endpoint: 'http://127.0.0.1:1', outputs });

  it('is the deployed stack if no local stack runs', async () => {
    const { code, out, err } = await ops('status');
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^No local stack runs, and the deployed stack cannot be read: .+\n$/);
    expect(err.split('\n')).toHaveLength(2);
  });

  it('is found by name, with alarms and deliveries from CloudWatch', async () => {
    regions.length = 0;
    const { code, out, err } = await ops('status --stack Prod', { env });
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^stack Prod\n/);
    expect(out).toMatch(/\nalarm-events +7 +0 +0 +– +7\n/);
    // Includes the retry queue: two visible, five delayed.
    expect(out).toMatch(/\nemail +9 +0 +5 +42 s +7\n/);
    // These two queues are listed without a dead-letter queue.
    expect(out).toMatch(/\nemail-events +7 +0 +0 +– +–\ncrashed +7 +0 +0 +– +–\n/);
    expect(out).toMatch(
      /\nProd-First +ALARM +2027-01-15T08:00:00Z\nProd-Last +ALARM +2027-01-15T08:00:00Z\n120 alarms OK\n/,
    );
    expect(out).not.toContain('Staging');
    expect(out).toMatch(/\ntype +outcome +deliveries\nsms +delivered +2\n$/);
    expect(new Set(regions)).toEqual(new Set(['eu-central-1', 'eu-west-1']));
  });

  it('is not found by an unknown name', async () => {
    const err =
      'The account of the AWS credentials has no stack Other in eu-central-1: check AWS_PROFILE, AWS_REGION and the name.\n';
    expect(await ops('status --stack Other', { env })).toEqual({ code: 1, out: '', err });
  });

  it('is found in an outputs file, by name if it contains several stacks', async () => {
    const path = file('outputs.json', { Other: {}, Prod: outputs });
    const { code, out } = await ops(`status --json --outputs ${path} --stack Prod`, { env });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      stack: 'stack Prod',
      queues: expect.arrayContaining([expect.objectContaining({ queue: 'alarm-events', visible: 7 })]),
    });
    const unnamed = await ops(`status --outputs ${path}`, { env });
    expect(unnamed).toMatchObject({
      code: 2,
      err: expect.stringMatching(/contains several stacks, Other, Prod: select one with --stack NAME\.\n$/),
    });
    expect(await ops(`status --outputs ${path} --stack Third`, { env })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/does not contain stack Third, only Other, Prod\.\n$/),
    });
  });

  it.each([
    [() => ({ Prod: {} }), /^The outputs of stack Prod lack AlarmEventsQueueArn, .*QueueUrls: deploy this version/],
    [
      () => ({ Prod: { ...outputs, QueueUrls: '{"sms":' } }),
      /^The outputs of stack Prod lack QueueUrls: deploy this version/,
    ],
    [() => [1], /was not written by `cdk deploy --outputs-file`\.\n$/],
  ])('is not found in an outputs file without its outputs', async (content, message) => {
    const path = file('wrong.json', content());
    expect(await ops(`status --outputs ${path}`)).toEqual({ code: 1, out: '', err: expect.stringMatching(message) });
  });

  it('is selected among several running local stacks by the port of its API', async () => {
    vi.stubEnv('TMPDIR', directory.path);
    const remove = [local(process.pid, 3000), local(process.ppid, 3001), local(2 ** 30, 3002)];
    vi.unstubAllEnvs();
    const many = await ops('status');
    expect(many).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/ports 300\d, 300\d: select one/) });
    expect(await ops('status --local 3002')).toMatchObject({
      code: 1,
      err: 'No local stack runs with its API on port 3002.\n',
    });
    // The endpoint is unreachable, but the command uses it.
    expect(await ops('status --local 3001')).toMatchObject({ code: 1, err: expect.stringMatching(/127\.0\.0\.1:1/) });
    for (const removeFile of remove) removeFile();
  });
});

describe('dead-letters list', () => {
  it('lists crashed messages with the queues from which SQS moved them', async () => {
    const { code, out } = await ops('dead-letters list crashed --wide --stack Prod', { env });
    expect(code).toBe(0);
    expect(out).toMatch(/^crashed: 7 dead letters, 1 shown \(cause service: received too often ×1\)\n/);
    expect(out).toMatch(
      /\ntime .* event +source\n2027-01-15T08:00:00Z +received too often +service +– +acme +ntA +ev1 +sms retries\n$/,
    );
  });
});

describe('a rotation of a signing secret whose result cannot be read', () => {
  it('fails, and names the command to run before the rotation is repeated', async () => {
    expect(await ops('account rotate-signing-secret locked --stack Prod', { env })).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^Target: .*\nIt is unknown whether the change was applied\. Run `npm run -s ops -- account show locked --secrets --stack Prod` before you repeat the command\.\n$/,
      ),
    });
  });

  it('fails, and names the command that shows the new secret', async () => {
    expect(await ops('account rotate-signing-secret acme --stack Prod', { env })).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^Target: .*\nThe signing secret was replaced, but the account cannot be read\. Run `npm run -s ops -- account show acme --secrets --stack Prod` to see the new secret\.\n$/,
      ),
    });
  });
});
