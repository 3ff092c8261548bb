import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createProgram } from '../../bin/ops/program.ts';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { useStarted } from '../support/use-started.ts';
import { type Responses, startAwsStub } from './aws-stub.ts';
import { commandLine, commandNames, useDirectory } from './command-line.ts';

const directory = useDirectory();
const ops = commandLine(directory);

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

const metricRequest = z.object({ MetricDataQueries: z.array(z.object({ Id: z.string(), MetricStat: z.unknown() })) });
/** What CloudFormation lists of the stack Prod: its alarms, and a resource of another type. */
const stackResources = `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>${[
  ...alarms.map(({ AlarmName }) => ['AWS::CloudWatch::Alarm', AlarmName] as const),
  ['AWS::SQS::Queue', 'Prod-Queue'] as const,
  ['AWS::Logs::LogGroup', 'Deliverydispatchalarmevents'] as const,
]
  .filter(([, name]) => !name.startsWith('Prod-Staging'))
  .map(
    ([type, name]) =>
      `<member><ResourceType>${type}</ResourceType><LogicalResourceId>${name}</LogicalResourceId><PhysicalResourceId>${name}</PhysicalResourceId></member>`,
  )
  .join('')}</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`;

const EVENT_MS = 1_790_000_000_000;
const EVENT_ID = `acme:en:al:ch:${EVENT_MS}:OK`;
/** Lines of dispatch about events of two tenants with the same ID. */
const lines = [
  ['acme', ['ntA', 'ntB\u0007']],
  ['initech', ['ntInitech']],
].map(([tenant_id, notification_ids]) =>
  JSON.stringify({ message: 'unknown notifications', tenant_id, event_id: EVENT_ID, notification_ids }),
);

const responses: Responses = {
  ListStackResources: () => stackResources,
  DescribeAlarms: (body) => {
    const { AlarmNamePrefix: prefix = '', AlarmNames: names, ...page } = alarmRequest.parse(JSON.parse(body));
    const found = alarms.filter(({ AlarmName: name }) => names?.includes(name) ?? name.startsWith(prefix));
    const start = Number(page.NextToken ?? 0);
    const end = start + Math.min(page.MaxRecords, MAX_PAGE_SIZE);
    return { MetricAlarms: found.slice(start, end), ...(end < found.length && { NextToken: String(end) }) };
  },
  FilterLogEvents: (body) => {
    const { logGroupName, filterPattern, startTime, endTime } = JSON.parse(body);
    const isFound = startTime < EVENT_MS && endTime > EVENT_MS && filterPattern.includes(`$.event_id = "${EVENT_ID}"`);
    return {
      events:
        logGroupName === 'Deliverydispatchalarmevents' && isFound
          ? lines.map((message) => ({ timestamp: EVENT_MS, message }))
          : [],
    };
  },
  ReceiveMessage: (body) => ({ Messages: body.includes('/crashed"') ? crashedMessages.splice(0) : [] }),
  TransactWriteItems: (body) => (body.includes('account#locked') ? undefined : {}),
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
const aws = useStarted(
  () => startAwsStub(responses),
  ({ stop }) => stop(),
);
const onProd = (command: string) => ops(`${command} --stack Prod`, { env: aws.env });

describe('the command line', () => {
  it('prints help with an example for every command', async () => {
    const commands = commandNames(createProgram());
    const pages = await Promise.all(commands.map((command) => ops(`${command} --help`)));
    for (const [index, { code, out }] of pages.entries()) {
      expect(code).toBe(0);
      expect(out).toContain(`npm run -s ops -- ${commands[index]}`);
      expect(out).toContain('--stack <name>');
    }
  });

  it.each([
    ['unknown', "error: unknown command 'unknown'\n"],
    ['token revoke --tenant acme', 'Pass either the ID of a token or --all.\n'],
    ['account rotate acme', /^This would revoke all tokens of tenant acme and .*: confirm with --yes\.\n$/],
    ['account shadow acme on', /^This would record the alerts of tenant acme without .*: confirm with --yes\.\n$/],
    ['deliveries --notification ntA', '--notification needs --tenant.\n'],
    ['token list', "error: required option '--tenant <tenant>' not specified\n"],
    ['token revoke 12 --tenant acme', /A token ID is tk and 26 characters/],
    ['token create --tenant a --role king --label x', /Allowed choices are admin, creator, observer\.\n$/],
    [
      `token create --tenant ${HEARTBEAT_TENANT} --role admin --label x`,
      /This tenant is reserved for heartbeats: pass another one\.\n$/,
    ],
    ['status --unknown', "error: unknown option '--unknown'\n"],
  ])('exits with 2 and a one-line error for the invalid command %s', async (command, message) => {
    const { code, out, err } = await ops(command);
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: expect.stringMatching(message) });
    expect(err.split('\n')).toHaveLength(2);
  });
});

it('status shows a deployed stack with its alarms and the deliveries in CloudWatch', async () => {
  const { code, out, err } = await onProd('status');
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/^stack Prod\nversion 4\.0\.0, commit 1f403b7e, deployed 2026-11-26T08:00:00Z\n\n/);
  expect(out).toMatch(/\nalarm-events +7 +0 +0 +– +7\n/);
  // Includes the retry queue: two visible, five delayed.
  expect(out).toMatch(/\nemail +9 +0 +5 +42 s +7\n/);
  // Queues without a dead-letter queue.
  expect(out).toMatch(/\nemail-events +7 +0 +0 +– +–\ndelivery-reports +7 +0 +0 +– +–\ncrashed +7 +0 +0 +– +–\n/);
  expect(out).toMatch(
    /\nProd-First +ALARM +2027-01-15T08:00:00Z\nProd-Last +ALARM +2027-01-15T08:00:00Z\n120 alarms OK\n/,
  );
  expect(out).not.toContain('Staging');
  expect(out).toMatch(/\ntype +outcome +deliveries\nsms +delivered +2\n$/);
  expect(aws.stub.regions).toEqual(new Set(['eu-central-1', 'eu-west-1']));
});

it('dead-letters list lists crashed messages with the queues from which SQS moved them', async () => {
  const { code, out } = await onProd('dead-letters list crashed');
  expect(code).toBe(0);
  expect(out).toMatch(/^crashed: 7 dead letters, 1 shown \(cause service: received too often ×1\)\n/);
  expect(out).toMatch(
    /\ntime .* event +source\n2027-01-15T08:00:00Z +received too often +service +– +acme +ntA +ev1 +sms retries\n$/,
  );
});

it('event trace shows what dispatch logged about an event of which nothing is stored', async () => {
  const { code, out } = await onProd(`event trace ${EVENT_ID} --tenant acme`);
  expect([code, out]).toEqual([0, expect.stringContaining('  unknown notifications: ntA, ntB\u{fffd}\n')]);
  expect(out).not.toContain('ntInitech');
  expect(await onProd(`event trace ${EVENT_ID} --tenant globex`)).toMatchObject({ code: 1 });
});

it('a change that may have been applied fails, and names the command to run next', async () => {
  const { code, out, err } = await onProd('account limits locked smsPerTenantPerDay=5');
  expect({ code, out, err: err.split('\n')[1] }).toEqual({
    code: 1,
    out: '',
    err: 'It is unknown whether the change was applied. See it with "account limits locked" before you repeat the command.',
  });
});
