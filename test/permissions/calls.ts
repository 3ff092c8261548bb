import { type AwsCall, LOCAL_ENV } from 'local-aws/aws-service.ts';
import * as z from 'zod';

/** A request as IAM evaluates it. */
export type Call = {
  /** The name of the function, or of the role of a schedule. */
  caller: string;
  action: string;
  /** An ARN, or a phone number for SMS, which has no IAM resource. */
  resource: string;
  /** The values of the condition keys. */
  context: Readonly<Record<string, string>>;
};

/** Returns the ARN of a resource of the local AWS. */
export const arn = (service: string, resource: string): string =>
  `arn:aws:${service}:${LOCAL_ENV.region}:${LOCAL_ENV.account}:${resource}`;

const json = (body: Buffer): unknown => JSON.parse(body.toString('utf8'));
const singleTable = z.object({ TableName: z.string() }).transform(({ TableName }) => [TableName]);
const batchTables = z
  .object({ RequestItems: z.record(z.string(), z.unknown()) })
  .transform(({ RequestItems }) => Object.keys(RequestItems));
const tables = z.union([singleTable, batchTables]);

const write = z.object({ TableName: z.string() });
const transaction = z.object({
  TransactItems: z.array(
    z.object({
      Put: write.optional(),
      Update: write.optional(),
      Delete: write.optional(),
      ConditionCheck: write.optional(),
    }),
  ),
});

const queue = z.union([
  z.object({ QueueUrl: z.string() }).transform(({ QueueUrl }) => QueueUrl.split('/').at(-1)),
  z.object({ QueueName: z.string() }).transform(({ QueueName }) => QueueName),
]);
const logGroup = z.object({ logGroupName: z.string() }).transform(({ logGroupName }) => logGroupName);

/** Operations whose IAM action has a different name. */
const actionByOperation = new Map([
  ['SendMessageBatch', 'SendMessage'],
  ['PublishBatch', 'Publish'],
  ['ChangeMessageVisibilityBatch', 'ChangeMessageVisibility'],
  ['DeleteMessageBatch', 'DeleteMessage'],
  ['Invoke', 'InvokeFunction'],
]);

/** Returns the action and the resource of each item: IAM has no action for transactions. */
const transactionCalls = ({ body }: AwsCall): Pick<Call, 'action' | 'resource'>[] =>
  transaction
    .parse(json(body))
    .TransactItems.flatMap((item) =>
      Object.entries(item).flatMap(([kind, request]) =>
        request ? [{ action: `dynamodb:${kind}Item`, resource: arn('dynamodb', `table/${request.TableName}`) }] : [],
      ),
    );

const resourcesOf = ({ service, action, path, body }: AwsCall): string[] => {
  const form = new URLSearchParams(body.toString('utf8'));
  switch (service) {
    case 'dynamodb':
      return tables.parse(json(body)).map((table) => arn('dynamodb', `table/${table}`));
    case 'sqs':
      return [arn('sqs', queue.parse(json(body)) ?? '')];
    case 'lambda':
      if (!path.endsWith('/invocations')) return ['*'];
      return [arn('lambda', `function:${decodeURIComponent(path.split('/')[3] ?? '')}`)];
    case 'ses':
      if (action !== 'SendRawEmail') return ['*'];
      return [
        arn('ses', `identity/${form.get('Source')}`),
        arn('ses', `configuration-set/${form.get('ConfigurationSetName')}`),
      ];
    case 'sns':
      return [form.get('TopicArn') ?? form.get('PhoneNumber') ?? '*'];
    case 'cloudformation':
      return [arn('cloudformation', `stack/${form.get('StackName')}/local`)];
    case 'logs':
      return [arn('logs', `log-group:${logGroup.parse(json(body))}:log-stream`)];
    case 'monitoring':
      return ['*'];
    default:
      throw new Error(`No IAM resources are defined for ${service}.`);
  }
};

const contextOf = ({ service, action, body }: AwsCall): Call['context'] => {
  const form = new URLSearchParams(body.toString('utf8'));
  if (service === 'ses') return { 'ses:FromAddress': form.get('Source') ?? '' };
  if (action !== 'Subscribe') return {};
  return { 'sns:Protocol': form.get('Protocol') ?? '', 'sns:Endpoint': form.get('Endpoint') ?? '' };
};

/** The access key of the operator whose commands a test runs. */
export const OPERATOR_KEY = 'operator';

/** The actions of Lambda without a target, by the end of their path. */
const LAMBDA_ACTIONS = new Map([
  ['event-source-mappings', 'ListEventSourceMappings'],
  ['account-settings', 'GetAccountSettings'],
]);

const actionOf = ({ service, action, path }: AwsCall): string => {
  const [, resource = ''] = /\/([\w-]+)\/?(?:\?.*)?$/.exec(path) ?? [];
  const name = actionByOperation.get(action) ?? (action || LAMBDA_ACTIONS.get(resource));
  return `${service === 'monitoring' ? 'cloudwatch' : service}:${name}`;
};

/** Returns the IAM requests of an AWS call by a function, a schedule or an operator. Returns none for calls by the tests. */
export const callsOf = (call: AwsCall): Call[] => {
  const [, lambda, role] = /^local-(.+)$|^(.+):scheduler$/.exec(call.caller) ?? [];
  const caller = lambda ?? role ?? (call.caller === OPERATOR_KEY ? OPERATOR_KEY : undefined);
  // Everybody may ask STS.
  if (caller === undefined || call.service === 'sts') return [];
  if (call.action === 'TransactWriteItems')
    return transactionCalls(call).map((itemCall) => ({ ...itemCall, caller, context: {} }));
  const action = actionOf(call);
  return resourcesOf(call).map((resource) => ({ caller, action, resource, context: contextOf(call) }));
};
