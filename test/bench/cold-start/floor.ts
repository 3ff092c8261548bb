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
    imports: "import { SendEmailCommand, SESClient } from '@aws-sdk/client-ses';",
    create: 'const ses = new SESClient({});',
    call: "await ses.send(new SendEmailCommand({ Source: 'a@example.com', Destination: {}, Message: undefined }));",
  },
  sns: {
    imports: "import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';",
    create: 'const sns = new SNSClient({});',
    call: "await sns.send(new PublishCommand({ Message: 'x' }));",
  },
} as const;

/** An AWS client that a function may use. */
export type ClientName = keyof typeof clients;

/** The names of all AWS clients. */
export const clientNames = ['dynamodb', 'lambda', 'sqs', 'ses', 'sns'] as const satisfies readonly ClientName[];

/** Builds the floor of a function: a handler that creates the same AWS clients and calls each one in `called` once. */
export const buildFloor = (file: string, used: readonly ClientName[], called: readonly ClientName[]): void => {
  const parts = used.map((name) => clients[name]);
  const contents = [
    ...parts.map(({ imports }) => imports),
    ...parts.map(({ create }) => create),
    'export const handler = async () => {',
    ...called.map((name) => clients[name].call),
    // Keeps the bundler from removing unused clients.
    `return { statusCode: 204, batchItemFailures: [], clients: [${used.join(', ')}].length };`,
    '};',
  ].join('\n');
  buildSync({ ...bundling, stdin: { contents, resolveDir: bundling.absWorkingDir }, outfile: file });
};

/** Returns the AWS clients in a bundle, from the names of its inputs. */
export const clientsIn = (inputs: readonly string[]): ClientName[] =>
  clientNames.filter((name) => inputs.some((input) => input.includes(`@aws-sdk/client-${name}/`)));

/** Returns the AWS clients that make these actions. */
export const clientsOf = (actions: readonly string[]): ClientName[] => {
  const clientOf = (action: string): ClientName => {
    if (action === 'Invoke') return 'lambda';
    if (action === 'SendEmail') return 'ses';
    if (action === 'Publish') return 'sns';
    return action.includes('Message') ? 'sqs' : 'dynamodb';
  };
  const names = new Set(actions.map(clientOf));
  return clientNames.filter((name) => names.has(name));
};
