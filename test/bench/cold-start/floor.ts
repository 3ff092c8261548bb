import { buildSync } from 'esbuild';
import { bundling } from '../../../lib/bundles.ts';

/** What an AWS client costs at the least: how it is made, and one call of it. */
const clients = {
  dynamodb: {
    imports: `
      import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
      import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';`,
    make: 'const dynamodb = DynamoDBDocumentClient.from(new DynamoDBClient({}));',
    call: "await dynamodb.send(new GetCommand({ TableName: 'Tokens', Key: { pk: 'x' } }));",
  },
  lambda: {
    imports: "import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';",
    make: 'const lambda = new LambdaClient({});',
    call: "await lambda.send(new InvokeCommand({ FunctionName: 'f', Payload: '{}' }));",
  },
  sqs: {
    imports: "import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';",
    make: 'const sqs = new SQSClient({});',
    call: "await sqs.send(new SendMessageCommand({ QueueUrl: process.env.AWS_ENDPOINT_URL + '/q', MessageBody: 'x' }));",
  },
  ses: {
    imports: "import { SendEmailCommand, SESClient } from '@aws-sdk/client-ses';",
    make: 'const ses = new SESClient({});',
    call: "await ses.send(new SendEmailCommand({ Source: 'a@example.com', Destination: {}, Message: undefined }));",
  },
  sns: {
    imports: "import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';",
    make: 'const sns = new SNSClient({});',
    call: "await sns.send(new PublishCommand({ Message: 'x' }));",
  },
} as const;

/** An AWS client that a function may use. */
export type ClientName = keyof typeof clients;

/** All of them. */
export const clientNames = ['dynamodb', 'lambda', 'sqs', 'ses', 'sns'] as const satisfies readonly ClientName[];

/**
 * Builds the SDK-only floor of a function: a handler that has the same AWS clients and does nothing but one call of each that
 * the function calls.
 */
export const buildFloor = (file: string, used: readonly ClientName[], called: readonly ClientName[]): void => {
  const parts = used.map((name) => clients[name]);
  const contents = [
    ...parts.map(({ imports }) => imports),
    ...parts.map(({ make }) => make),
    'export const handler = async () => {',
    ...called.map((name) => clients[name].call),
    // What is not called must not be shaken away.
    `return { statusCode: 204, batchItemFailures: [], made: [${used.join(', ')}].length };`,
    '};',
  ].join('\n');
  buildSync({ ...bundling, stdin: { contents, resolveDir: bundling.absWorkingDir }, outfile: file });
};

/** Which AWS clients went into a bundle, by the names of its inputs. */
export const clientsIn = (inputs: readonly string[]): ClientName[] =>
  clientNames.filter((name) => inputs.some((input) => input.includes(`@aws-sdk/client-${name}/`)));

/** Which clients calls are of, by the names of the actions. */
export const clientsOf = (actions: readonly string[]): ClientName[] => {
  const owner = (action: string): ClientName => {
    if (action === 'Invoke') return 'lambda';
    if (action === 'SendEmail') return 'ses';
    if (action === 'Publish') return 'sns';
    return action.includes('Message') ? 'sqs' : 'dynamodb';
  };
  const owners = new Set(actions.map(owner));
  return clientNames.filter((name) => owners.has(name));
};
