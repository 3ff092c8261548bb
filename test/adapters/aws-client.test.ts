import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { GetQueueUrlCommand, SQSClient } from '@aws-sdk/client-sqs';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  awsConfig,
  collectBody,
  createDocumentClient,
  isDependencyFailure,
  isThrottled,
} from '../../shared/adapters/aws-client.ts';
import { startHttp } from '../support/servers.ts';

const TIMEOUT_MS = 200;

type Respond = (response: ServerResponse) => void;

const respondWith =
  (output: object): Respond =>
  (response) =>
    response.end(JSON.stringify(output));

const failWith =
  (status: number, name: string): Respond =>
  (response) => {
    response.statusCode = status;
    response.end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'because' }));
  };

const respondNever: Respond = () => undefined;

const respondPartially: Respond = (response) => {
  response.writeHead(200, { 'content-length': 100 });
  response.write('{');
};

const respondWithPage: Respond = (response) => {
  response.statusCode = 503;
  response.end('<html>Service Unavailable</html>');
};

const closeConnection: Respond = (response) => response.destroy();

type Received = { headers: IncomingHttpHeaders; body: string };

/** Starts a server that responds to each request with the next of the responses; the last one repeats. */
const connect = async (...responses: Respond[]) => {
  const received: Received[] = [];
  const { url } = await startHttp(async (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(request, 'end');
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
    (responses[received.length - 1] ?? responses.at(-1))?.(response);
  });
  const config = awsConfig();
  const client = createDocumentClient({
    ...config,
    endpoint: url().href,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret' },
    requestHandler: { ...config.requestHandler, requestTimeout: TIMEOUT_MS },
  });
  return { received, client };
};

const put = new PutCommand({
  TableName: 'table',
  Item: { pk: 'a', missing: undefined },
  ConditionExpression: 'attribute_not_exists(pk)',
});
const get = new GetCommand({ TableName: 'table', Key: { pk: 'a' } });

const errorOf = (sent: Promise<unknown>): Promise<unknown> =>
  sent.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a request to DynamoDB', () => {
  it('omits undefined attributes, and headers that nobody reads', async () => {
    const { received, client } = await connect(respondWith({}));
    await client.send(put);
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(JSON.parse(body)).toMatchObject({ Item: { pk: { S: 'a' } } });
    expect(body).not.toContain('missing');
    expect(Object.keys(headers)).toContain('authorization');
    expect(Object.keys(headers).filter((name) => /user-agent|trace/.test(name))).toEqual([]);
  });

  it('is sent again with the time of the server after a rejection of its time', async () => {
    const serverMs = Date.parse('2026-11-22T00:00:00Z');
    const rejectTime: Respond = (response) => {
      response.setHeader('date', new Date(serverMs).toUTCString());
      failWith(400, 'RequestTimeTooSkewed')(response);
    };
    const { received, client } = await connect(rejectTime, respondWith({}));
    await client.send(put);
    expect(received).toHaveLength(2);
    expect(received[1]?.headers['x-amz-date']).toMatch(/^20261122T0000/);
  });

  it('can be aborted', async () => {
    const { received, client } = await connect(respondNever);
    const controller = new AbortController();
    const sent = errorOf(client.send(put, { abortSignal: controller.signal }));
    await expect.poll(() => received.length).toBe(1);
    controller.abort();
    expect(await sent).toMatchObject({ name: 'AbortError' });
    expect(received).toHaveLength(1);
  });
});

it('a response of DynamoDB that an overloaded process sees too late sets no timer in the past', async () => {
  const warnings: string[] = [];
  const collect = ({ name }: Error) => warnings.push(name);
  process.on('warning', collect);
  onTestFinished(() => void process.off('warning', collect));
  const { received, client } = await connect(respondWith({ Item: { pk: { S: 'a' } } }));
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const endMs = performance.now() + TIMEOUT_MS;
      while (received.length === 1 && performance.now() < endMs);
      return result;
    },
    { step: 'deserialize', priority: 'low' },
  );
  expect((await client.send(get)).Item).toEqual({ pk: 'a' });
  expect(warnings).toEqual([]);
});

describe('a failed request to DynamoDB', () => {
  it.each([
    ['without a response in time', respondNever],
    ['whose connection is closed', closeConnection],
    ['whose response body stalls', respondPartially],
    ['with a response that is not from DynamoDB', respondWithPage],
    ['that is throttled', failWith(400, 'ProvisionedThroughputExceededException')],
  ])('%s is sent three times, each with its own number', async (_, respond) => {
    const { received, client } = await connect(respond);
    expect(isDependencyFailure(await errorOf(client.send(put)))).toBe(true);
    expect(received.map(({ headers }) => headers['amz-sdk-request'])).toEqual([
      'attempt=1; max=3',
      'attempt=2; max=3',
      'attempt=3; max=3',
    ]);
  });

  it('is throttling with the reasons of DynamoDB', async () => {
    const { client } = await connect(failWith(400, 'ThrottlingException'));
    expect(isThrottled(await errorOf(client.send(put)))).toBe(true);
  });

  it.each(['ValidationException', 'ConditionalCheckFailedException'])(
    'that cannot succeed is sent once: %s',
    async (name) => {
      const { received, client } = await connect(failWith(400, name));
      expect(await errorOf(client.send(put))).toMatchObject({ name, message: 'because' });
      expect(received).toHaveLength(1);
    },
  );
});

it('an AWS client sends a request for each message of the largest batch concurrently', async () => {
  const waiting: (() => void)[] = [];
  const { url } = await startHttp((request, response) => {
    request.resume();
    waiting.push(() => response.end('{"QueueUrl":"url"}'));
    if (waiting.length === 100) for (const respond of waiting) respond();
  });
  const credentials = { accessKeyId: 'none', secretAccessKey: 'none' };
  const client = new SQSClient({
    ...awsConfig(),
    endpoint: url().href,
    region: 'local-1',
    credentials,
    maxAttempts: 1,
  });
  const calls = Array.from({ length: 100 }, () => client.send(new GetQueueUrlCommand({ QueueName: 'q' })));
  expect(await Promise.all(calls)).toHaveLength(100);
});

it('the body of an AWS response is complete if it arrives in parts', async () => {
  const body = Readable.from([Buffer.from('{"Item"'), Buffer.from(':{}}')]);
  expect(Buffer.from(await collectBody(body)).toString()).toBe('{"Item":{}}');
});

it('the body of an AWS response that breaks off is an error', async () => {
  const body = new Readable({ read: () => undefined });
  body.push('{"Item"');
  setImmediate(() => body.destroy(new Error('broken off')));
  await expect(collectBody(body)).rejects.toThrow('broken off');
});
