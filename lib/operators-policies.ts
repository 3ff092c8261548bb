import type { Stack } from 'aws-cdk-lib';
import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { MonitoredResources } from './monitoring/alarms.ts';
import { allow } from './service-function.ts';
import type { Storage } from './storage.ts';

/** What the queues of the check of `ops verify` are called. */
const VERIFICATION_QUEUES = 'ops-verify-*';

/**
 * Creates the two IAM policies of operators: what the commands of the operators' command line that read a stack need, and
 * what those that change it need in addition (docs/operations.md#command-line). A test compares them with its calls.
 */
export const addOperatorsPolicies = (
  stack: Stack,
  storage: Storage,
  managedTopic: Topic,
  { delivery, emailEvents, reports }: Omit<MonitoredResources, 'api'>,
): { read: ManagedPolicy; change: ManagedPolicy } => {
  const scope = new Construct(stack, 'Operators');
  const { notifications, accounts, tokens, deliveries, audits } = storage;
  const onTables = (of: readonly { table: { tableArn: string } }[], ...actions: string[]) =>
    allow(
      actions.map((action) => `dynamodb:${action}`),
      of.map(({ table }) => table.tableArn),
    );
  const { alarmEvents, senders, crashedQueue, dispatch } = delivery;
  const types = senders.map(({ queue }) => queue);
  const arns = (queues: readonly { queueArn: string }[]) => queues.map(({ queueArn }) => queueArn);
  const work = arns([alarmEvents.queue, ...types.map(({ queue }) => queue)]);
  const others = arns([...types.map(({ retries }) => retries), emailEvents.queue.queue, reports.queue.queue]);
  const dead = arns([
    crashedQueue,
    alarmEvents.deadLetterQueue,
    ...types.map(({ deadLetterQueue }) => deadLetterQueue),
  ]);
  const read = new ManagedPolicy(scope, 'Read', {
    description: `What the operators' command line needs to read ${stack.stackName}`,
    statements: [
      allow(
        ['cloudformation:DescribeStacks', 'cloudformation:ListStackResources'],
        [stack.formatArn({ service: 'cloudformation', resource: 'stack', resourceName: `${stack.stackName}/*` })],
      ),
      onTables([notifications, deliveries], 'BatchGetItem', 'Query', 'Scan'),
      onTables([accounts, tokens], 'GetItem', 'Scan'),
      onTables([deliveries], 'GetItem'),
      onTables([audits], 'Query'),
      // It receives dead letters to show them, and makes them visible again.
      allow(['sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility'], dead),
      allow(['logs:FilterLogEvents'], [dispatch.logGroup.logGroupArn]),
      // The first two support no other resource. The third shows no messages, and the names of all queues are too long.
      allow(['cloudwatch:GetMetricData', 'cloudwatch:DescribeAlarms', 'sqs:GetQueueAttributes'], ['*']),
    ],
  });
  const verificationQueues = stack.formatArn({ service: 'sqs', resource: VERIFICATION_QUEUES });
  const change = new ManagedPolicy(scope, 'Change', {
    description: `What the operators' command line needs to change ${stack.stackName}, in addition`,
    statements: [
      onTables([notifications], 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem'),
      onTables([accounts, deliveries], 'UpdateItem', 'DeleteItem'),
      onTables([tokens, audits], 'PutItem', 'DeleteItem'),
      // A crashed message returns to its queue.
      allow(['sqs:SendMessage'], [...work, ...others]),
      allow(['sqs:DeleteMessage', 'sqs:PurgeQueue'], dead),
      // The checks of `ops verify`, which also sends an event through the stack.
      allow(['sqs:CreateQueue', 'sqs:DeleteQueue', 'sqs:ReceiveMessage'], [verificationQueues]),
      allow(['sns:Subscribe'], [managedTopic.topicArn], {
        StringEquals: { 'sns:Protocol': 'sqs' },
        StringLike: { 'sns:Endpoint': verificationQueues },
      }),
      allow(
        [
          'sns:Unsubscribe',
          'sns:GetSMSAttributes',
          'sns:GetSMSSandboxAccountStatus',
          'ses:GetAccountSendingEnabled',
          'ses:GetIdentityDkimAttributes',
          'ses:GetIdentityVerificationAttributes',
          'ses:GetSendQuota',
          'lambda:GetAccountSettings',
          'lambda:ListEventSourceMappings',
        ],
        ['*'],
      ),
    ],
  });
  return { read, change };
};
