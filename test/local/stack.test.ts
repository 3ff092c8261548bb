import { join } from 'node:path';
import { DynamoDBClient, PutItemCommand, ThrottlingException } from '@aws-sdk/client-dynamodb';
import type { RequestReport } from 'local-aws/gateway/gateway.ts';
import type { InvocationReport } from 'local-aws/lambda/lambda.ts';
import { useBundles } from 'local-aws/test/support/bundles.ts';
import { parseRaw, sendRaw } from 'local-aws/test/support/raw-http.ts';
import { template } from 'local-aws/test/support/template.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localSettings } from '../../bin/local/settings.ts';
import { type LocalStack, startLocalStack } from '../../bin/local/stack.ts';
import { until } from '../support/until.ts';

/** Calls AWS without an SDK, to keep the bundles small. */
const aws = `
  const aws = async (target, body) => {
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': target,
      'x-amz-date': '20260101T000000Z',
      authorization: 'AWS4-HMAC-SHA256 Credential=' + process.env.AWS_ACCESS_KEY_ID + '/d/us-east-1/' + (target.startsWith('AmazonSQS') ? 'sqs' : 'dynamodb') + '/aws4_request, SignedHeaders=a, Signature=b',
    };
    const response = await fetch(process.env.AWS_ENDPOINT_URL, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.json();
  };`;

const bundles = useBundles({
  enqueue: `${aws}
    exports.handler = async ({ pathParameters, body, requestContext }) => {
      const { MessageId } = await aws('AmazonSQS.SendMessage', { QueueUrl: process.env.QUEUE, MessageBody: pathParameters.kind + ':' + body });
      return { statusCode: 202, body: MessageId + ' ' + requestContext.domainName };
    };`,
  work: `${aws}
    exports.handler = async ({ Records }) => {
      for (const { body } of Records) await aws('DynamoDB_20120810.PutItem', { TableName: process.env.TABLE, Item: { pk: { S: body } } });
      return { batchItemFailures: [] };
    };`,
  fallback: `exports.handler = async ({ rawPath }) => ({ statusCode: 404, body: rawPath });`,
});

let settings: Record<string, string> = {};
const invocations: InvocationReport[] = [];
const requests: RequestReport[] = [];
let stack: LocalStack;
beforeAll(async () => {
  stack = await startLocalStack({
    synthesize: (given) => {
      settings = given;
      const bundle = (key: string) => join(bundles.directory, key.replace('.zip', ''));
      return { template, bundle, remove: () => undefined };
    },
    basePath: '/v1.0/1',
    onInvocation: (report: InvocationReport) => invocations.push(report),
    onRequest: (report: RequestReport) => requests.push(report),
  });
});
afterAll(async () => {
  await stack.stop();
});

const enqueue = (kind: string, body: string) =>
  fetch(`${stack.ready.base_url}/jobs/${kind}`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body });
const jobs = () => {
  const queue = stack.queues.get('Jobs');
  if (!queue) throw new Error('There is no queue Jobs.');
  return queue;
};

describe('the local stack', () => {
  it('reports its addresses and tokens when ready', () => {
    const token = expect.stringMatching(/^mnt_/);
    expect(stack.ready).toEqual({
      base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1\.0\/1$/),
      tokens: { admin: token, creator: token, observer: token, other_admin: token },
      tenants: { admin: 'acme', creator: 'acme', observer: 'acme', other_admin: 'globex' },
      aws_endpoint: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      alarm_queue_url: `${stack.ready.aws_endpoint}/000000000000/Jobs`,
      inbox_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      aws_environment: {
        AWS_ENDPOINT_URL: stack.ready.aws_endpoint,
        AWS_REGION: 'us-east-1',
        AWS_DEFAULT_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'local',
        AWS_SECRET_ACCESS_KEY: 'local',
      },
      docs_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    });
  });

  it('reports requests and invocations, and leaves a throttled batch in flight', async () => {
    const release = stack.lambda.throttle('work');
    invocations.length = 0;
    requests.length = 0;
    await enqueue('good', 'two');
    await until(() => invocations.some(({ result }) => result === 'throttle'));
    expect(requests).toMatchObject([{ routeKey: 'POST /jobs/{kind}', status: 202 }]);
    const results = invocations.map(({ functionName, result }) => `${functionName} ${result}`);
    expect(results.toSorted()).toEqual(['enqueue success', 'work throttle']);
    expect(jobs().counts).toMatchObject({ visible: 0, inFlight: 1 });
    release();
    stack.advance(30_000);
    await until(() => jobs().messages.length === 0);
    expect(invocations.at(-1)).toMatchObject({ functionName: 'work', result: 'success' });
  });

  it('limits the capacity of a partition key and throttles tables on demand', async () => {
    const client = new DynamoDBClient({
      endpoint: stack.ready.aws_endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      maxAttempts: 1,
    });
    const TableName = stack.plan.output('TokensTable');
    const put = (kilobytes: number) =>
      client.send(
        new PutItemCommand({ TableName, Item: { pk: { S: 'a' }, text: { S: 'x'.repeat(kilobytes * 1024) } } }),
      );
    // Capacity comes back in real time, so a busy machine may need several bursts to exhaust it.
    await until(async () => {
      const results = await Promise.allSettled(Array.from({ length: 20 }, () => put(300)));
      return results.some(({ status }) => status === 'rejected');
    });
    await stack.advance(60_000);
    await put(1);
    const release = stack.dynamodb.throttle({ table: TableName, operation: 'write' });
    await expect(put(1)).rejects.toBeInstanceOf(ThrottlingException);
    release();
    await put(1);
    client.destroy();
  });

  it('returns 404 outside its base path', async () => {
    const { origin } = new URL(stack.ready.base_url);
    expect(await (await fetch(`${stack.ready.base_url}/other`)).text()).toBe('/v1.0/1/other');
    expect(
      parseRaw(await sendRaw(origin, 'GET /jobs/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).status,
    ).toBe(404);
  });
});

describe('the settings of the local stack', () => {
  it('use the inbox as pager, router and feed, and allow loopback addresses', () => {
    expect(settings).toMatchObject({ linkScheme: 'http', egressAllow: expect.stringContaining('127.0.0.0/8') });
    expect(settings.pagerEndpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/pager$/);
  });

  it('are overridden by settings of the user and by strict egress', () => {
    const given = localSettings({ settings: { linkScheme: 'https' }, strictEgress: true, inboxUrl: 'http://inbox' });
    expect(given.linkScheme).toBe('https');
    expect(given).not.toHaveProperty('egressAllow');
  });

  it('send the heartbeats of a stage to the inbox, not to its monitor', () => {
    const given = localSettings({ settings: { stage: 'prod' }, strictEgress: false, inboxUrl: 'http://inbox' });
    expect(given.heartbeatUrl).toMatch(/^http:\/\/inbox\/webhooks\//);
  });
});
