import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { ConditionalCheckFailedException, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { isDependencyFailure, isThrottled } from '../../../shared/adapters/aws-client.ts';
import { getItem, putItem } from '../../../shared/adapters/dynamodb/documents.ts';
import { createDynamoDb } from '../../../shared/adapters/dynamodb/dynamodb-client.ts';
import { wasRepeated } from '../../../shared/adapters/dynamodb/errors.ts';
import { createRequestSigner } from '../../../shared/adapters/dynamodb/request-signer.ts';
import { startHttp } from '../../support/servers.ts';

const credentials = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' };
const NAMESPACE = 'com.amazonaws.dynamodb.v20120810#';

type Respond = (response: ServerResponse) => void;
type Received = { headers: IncomingHttpHeaders; path: string; body: string };

const ok =
  (output: object = {}): Respond =>
  (response) =>
    response.end(JSON.stringify(output));

const failure =
  (status: number, name: string): Respond =>
  (response) => {
    response.statusCode = status;
    response.end(JSON.stringify({ __type: `${NAMESPACE}${name}`, message: 'because' }));
  };

/** Starts a server that responds to each request with the next of the responses; the last one repeats. */
const startServer = async (...responses: Respond[]) => {
  const received: Received[] = [];
  const { url } = await startHttp(async (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(request, 'end');
    received.push({ headers: request.headers, path: request.url ?? '', body: Buffer.concat(chunks).toString('utf8') });
    (responses[received.length - 1] ?? responses.at(-1))?.(response);
  });
  const config = {
    endpoint: url().href,
    region: 'eu-west-1',
    credentials,
    maxAttempts: 3,
    requestHandler: { requestTimeout: 200, throwOnRequestTimeout: true },
  };
  return { received, config, client: createDynamoDb(config) };
};

const item = {
  pk: 'a',
  sk: 'b',
  number: 1.5,
  text: 'ü€😀',
  bytes: Buffer.from([0, 255]),
  list: [{ nested: true }, null],
};
const put = { TableName: 'table', Item: item, ConditionExpression: 'attribute_not_exists(pk)' };

describe('a request', () => {
  it('has the body of the document client of the AWS SDK for any item', async () => {
    const { received, config, client } = await startServer(ok());
    const documents = DynamoDBDocumentClient.from(new DynamoDBClient(config), {
      marshallOptions: { removeUndefinedValues: true },
    });
    const value = fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.uint8Array({ minLength: 1 }), fc.date());
    const anyItem = fc.dictionary(fc.string({ minLength: 1 }), value, { noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(anyItem, async (Item) => {
        received.length = 0;
        const input = { TableName: 'table', Item, ConditionExpression: 'c', ExpressionAttributeValues: { ':v': Item } };
        const results = await Promise.allSettled([putItem(client, input), documents.send(new PutCommand(input))]);
        expect(new Set(results.map(({ status }) => status)).size).toBe(1);
        expect(new Set(received.map(({ body }) => body)).size).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('has the headers of the AWS SDK, except those that DynamoDB does not need', async () => {
    const { received, config, client } = await startServer(ok());
    await putItem(client, put);
    await putItem(new DynamoDBClient(config), put);
    const ignored = ['user-agent', 'x-amz-user-agent', 'x-amz-content-sha256'];
    const variable = ['authorization', 'amz-sdk-invocation-id', 'x-amz-date'];
    const [own, sdk] = received.map(({ headers }) =>
      Object.entries(headers)
        .filter(([name]) => !ignored.includes(name))
        .map(([name, text]) => (variable.includes(name) ? name : `${name}: ${text}`))
        .toSorted(),
    );
    expect(own).toEqual(sdk);
  });

  it('has the signature that the AWS SDK calculates for the same request', async () => {
    const { received, config } = await startServer(ok());
    await putItem(new DynamoDBClient(config), put);
    const [{ headers, path, body } = { headers: {}, path: '', body: '' }] = received;
    const { authorization = '', 'x-amz-date': time } = headers;
    const signedNames = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? [];
    const added = ['x-amz-date', 'x-amz-security-token'];
    const signedHeaders = Object.fromEntries(
      signedNames.filter((name) => !added.includes(name)).map((name) => [name, String(headers[name])]),
    );
    const nowMs = Date.parse(String(time).replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'));
    const sign = createRequestSigner('dynamodb');
    const signed = sign({ path, headers: signedHeaders, body }, credentials, config.region, nowMs);
    expect(signed.authorization).toBe(authorization);
  });

  it('is signed with the current credentials, region and day', () => {
    const sign = createRequestSigner('dynamodb');
    const request = { path: '/', headers: { host: 'localhost' }, body: '{}' };
    const day = Date.UTC(2026, 0, 1);
    const inputs = [
      [credentials, 'eu-west-1', day],
      [{ ...credentials, secretAccessKey: 'other' }, 'eu-west-1', day],
      [credentials, 'eu-west-2', day],
      [credentials, 'eu-west-1', day + 86_400_000],
    ] as const;
    // A new signer has no key of an earlier request.
    for (const [usedCredentials, region, nowMs] of [...inputs, ...inputs]) {
      const expected = createRequestSigner('dynamodb')(request, usedCredentials, region, nowMs);
      expect(sign(request, usedCredentials, region, nowMs)).toEqual(expected);
    }
  });

  it('uses credentials that change', async () => {
    const { received, config } = await startServer(ok());
    const changing = vi.fn(async () => ({
      ...credentials,
      accessKeyId: `AKID${changing.mock.calls.length}`,
      expiration: new Date(0),
    }));
    const client = createDynamoDb({ ...config, credentials: changing });
    await putItem(client, put);
    await putItem(client, put);
    const [first, second] = received.map(({ headers }) => /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1]);
    expect(second).not.toBe(first);
  });
});

describe('a response', () => {
  it('contains the item, with bytes', async () => {
    const stored = { pk: { S: 'a' }, bytes: { B: 'AP8=' }, list: { L: [{ M: { nested: { BOOL: true } } }] } };
    const { client } = await startServer(ok({ Item: stored }));
    const { Item } = await getItem(client, { TableName: 'table', Key: { pk: 'a' } });
    expect(Item).toEqual({ pk: 'a', bytes: new Uint8Array([0, 255]), list: [{ nested: true }] });
  });

  it('larger than a chunk is read completely', async () => {
    const text = 'x'.repeat(400_000);
    const { client } = await startServer(ok({ Item: { text: { S: text } } }));
    expect(await getItem(client, { TableName: 'table', Key: { pk: 'a' } })).toEqual({ Item: { text } });
  });
});

describe('a failed condition', () => {
  it('is the exception of the AWS SDK, and not repeated', async () => {
    const { received, client } = await startServer(failure(400, 'ConditionalCheckFailedException'));
    const error = await putItem(client, put).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConditionalCheckFailedException);
    expect(error instanceof ConditionalCheckFailedException && wasRepeated(error)).toBe(false);
    expect(received).toHaveLength(1);
  });

  it('of a repeated request is known as such', async () => {
    const loseResponse: Respond = (response) => response.destroy();
    const { client } = await startServer(loseResponse, failure(400, 'ConditionalCheckFailedException'));
    const error = await putItem(client, put).catch((thrown: unknown) => thrown);
    expect(error instanceof ConditionalCheckFailedException && wasRepeated(error)).toBe(true);
  });
});

describe('a failed request', () => {
  const never: Respond = () => undefined;
  const partial: Respond = (response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{');
    setTimeout(() => response.destroy(), 10);
  };
  const stalled: Respond = (response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{');
  };
  const notFromDynamoDb: Respond = (response) => {
    response.statusCode = 503;
    response.end('<html>Service Unavailable</html>');
  };

  it.each([
    ['without a response in time', never],
    ['whose connection is closed', (response: ServerResponse) => response.destroy()],
    ['whose response is incomplete', partial],
    ['whose response does not end in time', stalled],
    ['with status 500', failure(500, 'InternalServerError')],
    ['with a response that is not from DynamoDB', notFromDynamoDb],
    ['that is throttled', failure(400, 'ProvisionedThroughputExceededException')],
  ])('%s is sent three times, each with its own number', async (_, respond) => {
    const { received, client } = await startServer(respond);
    const error = await putItem(client, put).catch((thrown: unknown) => thrown);
    expect(isDependencyFailure(error)).toBe(true);
    expect(received.map(({ headers }) => headers['amz-sdk-request'])).toEqual([
      'attempt=1; max=3',
      'attempt=2; max=3',
      'attempt=3; max=3',
    ]);
    expect(new Set(received.map(({ headers }) => headers['amz-sdk-invocation-id'])).size).toBe(1);
  });

  it('succeeds when it is repeated, and counts its attempts', async () => {
    const { client } = await startServer(failure(500, 'InternalServerError'), ok());
    expect((await putItem(client, put)).$metadata.attempts).toBe(2);
  });

  it('counts one attempt without a failure', async () => {
    const { client } = await startServer(ok());
    expect((await putItem(client, put)).$metadata.attempts).toBe(1);
  });

  it('is throttling with the reasons of DynamoDB', async () => {
    const { client } = await startServer(failure(400, 'ThrottlingException'));
    const error = await putItem(client, put).catch((thrown: unknown) => thrown);
    expect(isThrottled(error)).toBe(true);
  });

  it('that cannot succeed is not repeated', async () => {
    const { received, client } = await startServer(failure(400, 'ValidationException'));
    await expect(putItem(client, put)).rejects.toMatchObject({ name: 'ValidationException', message: 'because' });
    expect(received).toHaveLength(1);
  });

  it('can be aborted', async () => {
    const { client } = await startServer(never);
    const abortSignal = AbortSignal.timeout(20);
    await expect(
      client.send(new PutItemCommand({ TableName: 'table', Item: { pk: { S: 'a' } } }), { abortSignal }),
    ).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('finds credentials again after a failure to read them', async () => {
    const { config } = await startServer(ok());
    const provider = vi.fn(async () => credentials).mockRejectedValueOnce(new Error('not now'));
    const client = createDynamoDb({ ...config, credentials: provider });
    await expect(putItem(client, put)).rejects.toThrow('not now');
    await expect(putItem(client, put)).resolves.toBeDefined();
  });
});
