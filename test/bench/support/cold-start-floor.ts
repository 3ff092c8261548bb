import { buildSync } from 'esbuild';
import { bundling } from '../../../lib/bundles.ts';

/** The code that creates an AWS client and makes one call. */
const clients = {
  dynamodb: {
    imports: `
      import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
      import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';`,
    create: 'const dynamodb = DynamoDBDocumentClient.from(new DynamoDBClient({}));',
    call: "await dynamodb.send(new GetCommand({ TableName: 'Tokens', Key: { pk: 'x' } }));",
  },
  lambda: {
    imports: "import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';",
    create: 'const lambda = new LambdaClient({});',
    call: "await lambda.send(new InvokeCommand({ FunctionName: 'f', Payload: '{}' }));",
  },
  sqs: {
    imports: "import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';",
    create: 'const sqs = new SQSClient({});',
    call: "await sqs.send(new SendMessageCommand({ QueueUrl: process.env.AWS_ENDPOINT_URL + '/q', MessageBody: 'x' }));",
  },
  ses: {
    imports: "import { SendRawEmailCommand, SESClient } from '@aws-sdk/client-ses';",
    create: 'const ses = new SESClient({});',
    call: "await ses.send(new SendRawEmailCommand({ Source: 'a@example.com', RawMessage: undefined }));",
  },
  sns: {
    imports: "import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';",
    create: 'const sns = new SNSClient({});',
    call: "await sns.send(new PublishCommand({ Message: 'x' }));",
  },
} as const;

export type ClientName = keyof typeof clients;

const clientNames: readonly ClientName[] = ['dynamodb', 'lambda', 'sqs', 'ses', 'sns'];

/** The calls of a floor: one with each of these clients, and a POST request to this URL. */
export type FloorCalls = { called: readonly ClientName[]; post: string | undefined };

/** The code of an HTTP request with the agents that a sender needs: keep-alive, for HTTP and HTTPS. */
const http = {
  imports: `
    import http from 'node:http';
    import https from 'node:https';`,
  create: `
    const agent = { keepAlive: true, maxFreeSockets: 64, timeout: 2_000 };
    const agents = { http: new http.Agent(agent), https: new https.Agent(agent) };`,
  call: (url: string) => `
    await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': 2 };
      const request = http.request(new URL('${url}'), { method: 'POST', agent: agents.http, headers });
      request.on('error', reject);
      request.on('response', (response) => resolve(response.resume()));
      request.end('{}');
    });`,
};

export const buildFloor = (file: string, used: readonly ClientName[], { called, post }: FloorCalls): void => {
  const parts = used.map((name) => clients[name]);
  const contents = [
    ...parts.map(({ imports }) => imports),
    ...(post ? [http.imports, http.create] : []),
    ...parts.map(({ create }) => create),
    'export const handler = async () => {',
    ...called.map((name) => clients[name].call),
    ...(post ? [http.call(post)] : []),
    // Keeps the bundler from removing unused clients.
    `return { statusCode: 204, batchItemFailures: [], clients: [${used.join(', ')}].length };`,
    '};',
  ].join('\n');
  buildSync({ ...bundling, stdin: { contents, resolveDir: bundling.absWorkingDir }, outfile: file });
};

export const clientsIn = (inputs: readonly string[]): ClientName[] =>
  clientNames.filter((name) => inputs.some((input) => input.includes(`@aws-sdk/client-${name}/`)));

const clientOf = (action: string): ClientName => {
  if (action === 'Invoke') return 'lambda';
  if (action === 'SendRawEmail') return 'ses';
  if (action === 'Publish') return 'sns';
  return action.includes('Message') ? 'sqs' : 'dynamodb';
};

export const clientsOf = (actions: Readonly<Record<string, number>>): ClientName[] => [
  ...new Set(Object.keys(actions).map(clientOf)),
];
