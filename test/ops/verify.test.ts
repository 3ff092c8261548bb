import { createHash } from 'node:crypto';
import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { localDeployment } from '../../bin/ops/deployment.ts';
import { openSession } from '../../bin/ops/session.ts';
import { verifyDeployment } from '../../bin/ops/verify/verify-deployment.ts';
import type { DeliveryStatus } from '../../shared/contracts/outcomes.ts';
import { deliveryRecord } from '../support/delivery-records.ts';
import { startSink } from '../support/sink.ts';
import { useStarted } from '../support/use-started.ts';
import { type Responses, startAwsStub } from './aws-stub.ts';
import { useStackWithCommandLine } from './command-line.ts';

const xml = (action: string, content: string) =>
  `<${action}Response><${action}Result>${content}</${action}Result></${action}Response>`;
const TOPIC = 'arn:aws:sns:eu-west-1:111111111111:operators';
const quota = (perDay: number) =>
  xml('GetSendQuota', `<Max24HourSend>${perDay}</Max24HourSend><MaxSendRate>14</MaxSendRate>`);
const verified = (...identities: string[]) =>
  xml(
    'GetIdentityVerificationAttributes',
    `<VerificationAttributes>${identities
      .map((key) => `<entry><key>${key}</key><value><VerificationStatus>Success</VerificationStatus></value></entry>`)
      .join('')}</VerificationAttributes>`,
  );
const signed = (...identities: string[]) =>
  xml(
    'GetIdentityDkimAttributes',
    `<DkimAttributes>${identities
      .map(
        (key) =>
          `<entry><key>${key}</key><value><DkimEnabled>true</DkimEnabled><DkimVerificationStatus>Success</DkimVerificationStatus></value></entry>`,
      )
      .join('')}</DkimAttributes>`,
  );
const mapping = { UUID: 'Source-id', State: 'Enabled', ScalingConfig: { MaximumConcurrency: 20 } };

const sent = { body: '' };
const md5 = (text: string) => createHash('md5').update(text).digest('hex');
const message = z.object({ MessageBody: z.string() });
const keys = z.array(z.object({ pk: z.object({ S: z.string() }), sk: z.object({ S: z.string() }) }));
const batchGet = z.object({ RequestItems: z.object({ deliveries: z.object({ Keys: keys }) }) });

/** Returns the records of deliveries with a status. */
const recordsWith = (status: DeliveryStatus) => (body: string) => {
  const { Keys } = batchGet.parse(JSON.parse(body)).RequestItems.deliveries;
  const record = deliveryRecord({ tenant: 'ops-verify', id: 'nt1' }, 'e', { status });
  const items = Keys.map((key) => ({ ...marshall(record, { removeUndefinedValues: true }), ...key }));
  return { Responses: { deliveries: items }, UnprocessedKeys: {} };
};

const healthy: Responses = {
  ListStackResources: () =>
    xml(
      'ListStackResources',
      '<StackResourceSummaries><member><LogicalResourceId>Source</LogicalResourceId><PhysicalResourceId>Source-id</PhysicalResourceId><ResourceType>AWS::Lambda::EventSourceMapping</ResourceType></member></StackResourceSummaries>',
    ),
  'GET /2015-03-31/event-source-mappings': () => ({ EventSourceMappings: [mapping] }),
  'GET /2016-08-19/account-settings': () => ({ AccountLimit: { ConcurrentExecutions: 1_000 } }),
  GetIdentityVerificationAttributes: () => verified('example.com'),
  GetIdentityDkimAttributes: () => signed(),
  GetSendQuota: () => quota(50_000),
  GetAccountSendingEnabled: () => xml('GetAccountSendingEnabled', '<Enabled>true</Enabled>'),
  GetSMSSandboxAccountStatus: () => xml('GetSMSSandboxAccountStatus', '<IsInSandbox>false</IsInSandbox>'),
  GetSMSAttributes: () => xml('GetSMSAttributes', ''),
  CreateQueue: () => ({ QueueUrl: `${aws.url}/1/verification` }),
  Subscribe: () => xml('Subscribe', `<SubscriptionArn>${TOPIC}:2</SubscriptionArn>`),
  Unsubscribe: () => xml('Unsubscribe', ''),
  SendMessage: (body) => {
    sent.body = message.parse(JSON.parse(body)).MessageBody;
    return { MessageId: '1', MD5OfMessageBody: md5(sent.body) };
  },
  BatchGetItem: recordsWith('delivered'),
  Query: () => ({ Items: [{ pk: { S: 'delivery' }, sk: { S: 'record' } }] }),
  ReceiveMessage: () => {
    const Body = JSON.stringify({ Message: sent.body });
    return { Messages: [{ MessageId: '2', ReceiptHandle: '2', Body, MD5OfBody: md5(Body) }] };
  },
};

const changes: { responses: Responses } = { responses: {} };
const aws = useStarted(
  () =>
    startAwsStub(
      Object.fromEntries(
        Object.entries(healthy).map(([action, respond]) => [
          action,
          (body: string) => (changes.responses[action] ?? respond)(body),
        ]),
      ),
    ),
  ({ stop }) => stop(),
);

const verify = (responses: Responses = {}, outputs: Record<string, string> = {}) => {
  changes.responses = responses;
  aws.stub.actions.length = 0;
  const deployment = {
    ...localDeployment({ port: 0, endpoint: aws.url, outputs: { ...aws.outputs, ...outputs } }),
    stackName: 'Prod',
  };
  const session = openSession(deployment, true);
  return verifyDeployment(session, { now: () => clock.nowMs, sleep: async (ms) => clock.pass(ms) });
};

/** The time of the checks, which passes when they wait. */
const clock = {
  nowMs: Date.now(),
  pass(ms: number) {
    this.nowMs += ms;
  },
};
const actionsOf = (...actions: string[]) => aws.stub.actions.filter((action) => actions.includes(action));

describe('verify', () => {
  it('proves every assumption about a deployed stack, and deletes what it creates', async () => {
    const results = await verify();
    expect(results.filter(({ status }) => status !== 'ok')).toEqual([]);
    const count = (action: string) => aws.stub.actions.filter((each) => each === action).length;
    expect([count('CreateQueue'), count('Subscribe'), count('PutItem')]).toEqual([1, 1, 1]);
    // The notification, the delivery, and the counter of the day, which may change meanwhile.
    expect([count('DeleteQueue'), count('Unsubscribe'), count('DeleteItem')]).toEqual([1, 1, 4]);
  });

  it('counts a domain as verified that has only DKIM, as SES does', async () => {
    const results = await verify({
      GetIdentityVerificationAttributes: () => verified(),
      GetIdentityDkimAttributes: () => signed('mail.example.com'),
    });
    expect(results.find(({ name }) => name === 'email-identity')).toMatchObject({
      status: 'ok',
      found: 'mail.example.com',
    });
  });

  it('uses a new queue after a second, as SQS requires', async () => {
    const times: number[] = [];
    const at = (action: string) => (body: string) => {
      times.push(clock.nowMs);
      return healthy[action]?.(body);
    };
    await verify({ CreateQueue: at('CreateQueue'), Subscribe: at('Subscribe') });
    const [createdMs = 0, usedMs = 0] = times;
    expect(usedMs - createdMs).toBeGreaterThanOrEqual(1_000);
  });

  it('sends the event again if SNS published it before the new subscription worked', async () => {
    let sends = 0;
    const results = await verify({
      SendMessage: (body) => {
        sends += 1;
        return healthy.SendMessage?.(body);
      },
      ReceiveMessage: (body) => (sends > 1 ? healthy.ReceiveMessage?.(body) : {}),
    });
    expect(results.find(({ name }) => name === 'delivery')).toMatchObject({
      status: 'ok',
      found: expect.stringMatching(/^received after 3\d\.\d s$/),
    });
    expect(actionsOf('SendMessage')).toHaveLength(2);
    expect(new Set(actionsOf('CreateQueue', 'Subscribe', 'Unsubscribe', 'DeleteQueue')).size).toBe(4);
  });

  it('gives up after three events that do not arrive', async () => {
    const results = await verify({ ReceiveMessage: () => ({}) });
    expect(results.find(({ name }) => name === 'delivery')).toMatchObject({
      status: 'failed',
      found: expect.stringContaining('3 events published, but none received from the topic'),
    });
    expect(actionsOf('SendMessage')).toHaveLength(3);
    expect(actionsOf('Unsubscribe', 'DeleteQueue')).toHaveLength(2);
  });

  it.each([
    ['pagerEndpoint', 404, 'failed'],
    ['pagerEndpoint', 301, 'failed'],
    ['pagerEndpoint', 400, 'ok'],
    ['routerEndpoint', 503, 'failed'],
    ['routerEndpoint', 308, 'failed'],
    ['routerEndpoint', 404, 'ok'],
    ['feedEndpoint', 302, 'failed'],
    ['feedEndpoint', 401, 'failed'],
    ['feedEndpoint', 404, 'failed'],
    ['feedEndpoint', 410, 'failed'],
    ['feedEndpoint', 200, 'ok'],
    ['feedEndpoint', 405, 'ok'],
  ] as const)('probes the %s: %i is %s', async (setting, status, expected) => {
    const sink = await startSink((response) => response.writeHead(status).end());
    const settings = { ...JSON.parse(aws.outputs.Settings ?? ''), [setting]: sink.url };
    const results = await verify({}, { Settings: JSON.stringify(settings) });
    expect(results.find(({ name }) => name === setting)).toMatchObject({ status: expected });
    sink.close();
  });

  it('fails if an endpoint of the operators is unreachable, unless it may permit only the addresses of the stack', async () => {
    const settings = { ...JSON.parse(aws.outputs.Settings ?? ''), pagerEndpoint: 'http://127.0.0.1:1' };
    for (const [egress, status] of [
      ['lambda', 'failed'],
      ['static', 'skipped'],
    ]) {
      const results = await verify({}, { Settings: JSON.stringify({ ...settings, changed: { egress } }) });
      const found = expect.stringContaining('127.0.0.1:1');
      expect(results.find(({ name }) => name === 'pagerEndpoint')).toMatchObject({ status, found });
    }
  });

  it.each<[check: string, found: string | RegExp, Responses]>([
    ['delivery', 'failed', { BatchGetItem: recordsWith('failed') }],
    [
      'event-sources',
      'Source: Disabled',
      { 'GET /2015-03-31/event-source-mappings': () => ({ EventSourceMappings: [{ ...mapping, State: 'Disabled' }] }) },
    ],
    [
      'email-identity',
      'alerts@mail.example.com is not verified',
      { GetIdentityVerificationAttributes: () => verified() },
    ],
    ['email-sandbox', /^in the sandbox: 200 emails a day/, { GetSendQuota: () => quota(200) }],
    [
      'email-sandbox',
      'sending is paused',
      { GetAccountSendingEnabled: () => xml('GetAccountSendingEnabled', '<Enabled>false</Enabled>') },
    ],
    [
      'sms-sandbox',
      'in the sandbox',
      { GetSMSSandboxAccountStatus: () => xml('GetSMSSandboxAccountStatus', '<IsInSandbox>true</IsInSandbox>') },
    ],
    [
      'lambda-concurrency',
      'the quota is 10, lambdaConcurrencyQuota 1000, and the event sources use up to 20',
      { 'GET /2016-08-19/account-settings': () => ({ AccountLimit: { ConcurrentExecutions: 10 } }) },
    ],
  ])('fails, and says what to do, for %s: %s', async (check, found, responses) => {
    const result = (await verify(responses)).find(({ name }) => name === check);
    expect(result).toMatchObject({
      status: 'failed',
      found: expect.stringMatching(found),
      resolve: expect.stringMatching(/./),
    });
  });

  it('reports a check that AWS does not answer as failed, and runs the others', async () => {
    const results = await verify({ GetSendQuota: () => undefined });
    expect(results.filter(({ status }) => status === 'failed')).toMatchObject([
      {
        name: 'email-sandbox',
        found: expect.stringMatching(/^not checked: /),
        resolve: expect.stringMatching(/^run it again/),
      },
    ]);
  });
});

describe('the command', () => {
  const local = useStackWithCommandLine();

  it('exits with 1 if a check fails', async () => {
    changes.responses = { GetSendQuota: () => quota(200) };
    const { code, out } = await local.ops('verify --stack Prod', { env: aws.env });
    expect(code).toBe(1);
    expect(out).toMatch(
      /\nFAILED +email-sandbox: .*\(in the sandbox: .*\)\. To resolve: request production access .*\.\n/,
    );
    expect(out).toMatch(/\n1 check failed\.\n$/);
  });

  it('delivers an event on the local stack, leaves nothing behind, and says what this stack cannot answer', async () => {
    const { code, out } = await local.ops('verify');
    expect(code).toBe(0);
    expect(out).toMatch(/^ok +api: .*\n(ok +\w+Endpoint: .*\n){3}ok +delivery: .*delivered after/);
    expect(out).toMatch(/\n– +event-sources: .*not on the local stack/);
    expect(await local.ops('tenant delete ops-verify --dry-run')).toMatchObject({
      code: 1,
      err: expect.stringContaining('Tenant ops-verify does not exist'),
    });
  });
});
