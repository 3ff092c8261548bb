import * as z from 'zod';
import { type AwsCall, LOCAL_ENV } from '../../bin/local/aws/aws-service.ts';

/** What IAM would decide on: who wants to do what with which resource. */
export type Call = {
  /** The name of the function. */
  caller: string;
  action: string;
  /** An ARN, or a phone number: texts have no resource. */
  resource: string;
  /** The condition keys that the service would give. */
  context: Readonly<Record<string, string>>;
};

const arn = (service: string, resource: string): string =>
  `arn:aws:${service}:${LOCAL_ENV.region}:${LOCAL_ENV.account}:${resource}`;

const json = (body: Buffer): unknown => JSON.parse(body.toString('utf8'));
const single = z.object({ TableName: z.string() }).transform(({ TableName }) => [TableName]);
const batch = z
  .object({ RequestItems: z.record(z.string(), z.unknown()) })
  .transform((one) => Object.keys(one.RequestItems));
const tables = z.union([single, batch]);
const queue = z.object({ QueueUrl: z.string() }).transform(({ QueueUrl }) => QueueUrl.split('/').at(-1));

/** An operation whose action in IAM has another name. */
const actions = new Map([
  ['SendMessageBatch', 'SendMessage'],
  ['Invoke', 'InvokeFunction'],
]);

const resourcesOf = ({ service, path, body }: AwsCall): string[] => {
  const form = new URLSearchParams(body.toString('utf8'));
  switch (service) {
    case 'dynamodb':
      return tables.parse(json(body)).map((table) => arn('dynamodb', `table/${table}`));
    case 'sqs':
      return [arn('sqs', queue.parse(json(body)) ?? '')];
    case 'lambda':
      return [arn('lambda', `function:${decodeURIComponent(path.split('/')[3] ?? '')}`)];
    case 'ses':
      return [
        arn('ses', `identity/${form.get('Source')}`),
        arn('ses', `configuration-set/${form.get('ConfigurationSetName')}`),
      ];
    case 'sns':
      return [form.get('TopicArn') ?? form.get('PhoneNumber') ?? ''];
    default:
      throw new Error(`Nobody knows what ${service} asks IAM for.`);
  }
};

const contextOf = ({ service, body }: AwsCall): Call['context'] =>
  service === 'ses' ? { 'ses:FromAddress': new URLSearchParams(body.toString('utf8')).get('Source') ?? '' } : {};

/** What a call of a function asks IAM for; nothing for the calls of the tests themselves. */
export const callsOf = (call: AwsCall): Call[] => {
  const [, caller] = /^local-(.+)$/.exec(call.caller) ?? [];
  if (caller === undefined) return [];
  const action = `${call.service}:${actions.get(call.action) ?? call.action}`;
  return resourcesOf(call).map((resource) => ({ caller, action, resource, context: contextOf(call) }));
};
