import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../../shared/contracts/notification-types.ts';
import { senderName } from '../../shared/environment.ts';
import { inLogicalId, propertiesOf, reference, synthesize } from '../support/stack.ts';

const { template, functionIds } = synthesize();

const oneOrMore = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([schema.transform((value) => [value]), z.array(schema)]);

/** Parses a resource of a statement to its logical ID or an ARN, with references as `<id>`. */
const resource = z.union([
  z.string(),
  reference,
  z
    .object({
      'Fn::Join': z.tuple([z.literal(''), z.array(z.union([z.string(), reference.transform((id) => `<${id}>`)]))]),
    })
    .transform((join) => join['Fn::Join'][1].join('')),
]);

const statement = z.object({
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMore(z.string()),
  Resource: oneOrMore(resource).optional(),
  NotResource: oneOrMore(resource).optional(),
  Condition: z.unknown().optional(),
  Principal: z.unknown().optional(),
});
const policyDocument = z.object({ Statement: z.array(statement) });

const policies = propertiesOf(
  template,
  'AWS::IAM::Policy',
  z.object({ PolicyDocument: policyDocument, Roles: z.array(reference) }),
);
const roleOf = propertiesOf(template, 'AWS::Lambda::Function', z.object({ Role: reference }));

/** Returns what a function may do as actions and resources, without the hashes of IDs and without its logs. */
const grantsOf = (name: string): string[] => {
  const role = roleOf.get(functionIds.get(name) ?? '')?.Role;
  const statements = [...policies.values()]
    .filter(({ Roles }) => Roles.some((id) => id === role))
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
  return statements
    .flatMap(({ Action, Resource = [], NotResource = [] }) =>
      Action.flatMap((action) => [
        ...Resource.map((id) => `${action} ${id.replace(/[0-9A-F]{8}$/, '')}`),
        ...NotResource.map((id) => `${action} all but ${id}`),
      ]),
    )
    .filter((grant) => !grant.startsWith('logs:'))
    .toSorted();
};

const onNotifications = (...actions: string[]) =>
  actions.map((action) => `dynamodb:${action} StorageNotificationsTable`);

describe('permissions of pipeline functions', () => {
  const sending = (types: readonly NotificationTypeId[]) =>
    types.map((type) => `sqs:SendMessage Delivery${inLogicalId(type)}Queue`);
  const consuming = (queue: string) => [
    ...['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility'].map(
      (action) => `sqs:${action} Delivery${queue}Queue`,
    ),
    `sqs:SendMessage Delivery${queue}DeadLetters`,
  ];
  const retrying = (type: NotificationTypeId) =>
    ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility', 'SendMessage'].map(
      (action) => `sqs:${action} Delivery${inLogicalId(type)}Retries`,
    );
  const ownQueues = (name: string) => grantsOf(name).filter((grant) => grant.startsWith('sqs:'));

  it('allow dispatch to read notifications, store a list of destinations, send to the senders, continue a large plan and count escalations', () => {
    expect(grantsOf('dispatch-alarm-events')).toEqual(
      [
        ...onNotifications('BatchGetItem'),
        'dynamodb:PutItem StorageDeliveriesTable',
        'dynamodb:UpdateItem StorageAccountsTable',
        ...sending(notificationTypeIds),
        ...consuming('AlarmEvents'),
        'sqs:SendMessage DeliveryAlarmEventsQueue',
      ].toSorted(),
    );
  });

  it.each(notificationTypeIds)(
    'allow a sender to consume its queues, retry, dead-letter and send to other senders: %s',
    (type) => {
      // Messages waiting for an incident lock or a circuit, and notices, go to the own queue of the sender.
      const sendsNotices = ['technicalContactsEmail', 'managed'].includes(type);
      const { hasIncidents, sendsByHttp } = notificationTypes[type];
      const sendsToOwnQueue = hasIncidents || sendsByHttp || sendsNotices;
      const recipients = notificationTypeIds.filter((id) => id !== type || sendsToOwnQueue);
      const grants = [...sending(recipients), ...consuming(inLogicalId(type)), ...retrying(type)];
      expect(ownQueues(senderName(type))).toEqual(grants.toSorted());
    },
  );

  it('allow SES and SNS only for the types that use them', () => {
    const actions = notificationTypeIds.flatMap((type) =>
      grantsOf(senderName(type))
        .filter((grant) => /^(ses|sns):/.test(grant))
        .map((grant) => `${type} ${grant.split(' ')[0]}`),
    );
    expect(new Set(actions)).toEqual(
      new Set([
        'email ses:SendEmail',
        'technicalContactsEmail ses:SendEmail',
        'sms sns:Publish',
        'managed sns:Publish',
      ]),
    );
  });
});

describe('permissions of record-email-events', () => {
  it('cover only updating delivery records, consuming the queue and queueing notices', () => {
    expect(grantsOf('record-email-events')).toEqual([
      'dynamodb:BatchGetItem StorageDeliveriesTable',
      'dynamodb:BatchGetItem StorageNotificationsTable',
      'dynamodb:GetItem StorageDeliveriesTable',
      'dynamodb:UpdateItem StorageAccountsTable',
      'dynamodb:UpdateItem StorageDeliveriesTable',
      'sqs:ChangeMessageVisibility EmailEventsQueue',
      'sqs:DeleteMessage EmailEventsQueue',
      'sqs:GetQueueAttributes EmailEventsQueue',
      'sqs:ReceiveMessage EmailEventsQueue',
      'sqs:SendMessage DeliverymanagedQueue',
      'sqs:SendMessage DeliverytechnicalContactsEmailQueue',
    ]);
  });
});

describe('policies', () => {
  const allowed = [...policies].flatMap(([id, { PolicyDocument }]) =>
    PolicyDocument.Statement.filter(({ Effect }) => Effect === 'Allow').map((allow) => ({ id, ...allow })),
  );

  it('contain no wildcard actions', () => {
    for (const { Action } of allowed) for (const action of Action) expect(action).toMatch(/^[a-z0-9]+:[A-Za-z]+$/);
  });

  it('contain no wildcard resources except for emails and SMS', () => {
    const wide = allowed.flatMap(({ Action, Resource = [], NotResource = [] }) =>
      [...Resource.filter((arn) => arn.includes('*')), ...NotResource.map((arn) => `all but ${arn}`)].map(
        (resources) => `${Action} ${resources}`,
      ),
    );
    expect([...new Set(wide)].toSorted()).toEqual([
      'ses:SendEmail arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:identity/*',
      'sns:Publish all but arn:<AWS::Partition>:sns:*:*:*',
    ]);
  });

  it('allow emails from the configured sender address only', () => {
    const emails = allowed.filter(({ Action }) => Action.includes('ses:SendEmail'));
    expect(emails).toHaveLength(2);
    for (const { Condition } of emails) {
      expect(Condition).toEqual({ StringEquals: { 'ses:FromAddress': 'notifications@example.com' } });
    }
  });

  it('of queues and topics allow only CloudWatch to publish alarms and the EventBridge rule to send email events', () => {
    const queues = propertiesOf(template, 'AWS::SQS::QueuePolicy', z.object({ PolicyDocument: policyDocument }));
    const topics = propertiesOf(template, 'AWS::SNS::TopicPolicy', z.object({ PolicyDocument: policyDocument }));
    const allowed = [...queues.values(), ...topics.values()]
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
      .filter(({ Effect }) => Effect !== 'Deny');
    expect(allowed).toEqual([
      expect.objectContaining({
        Action: ['sqs:SendMessage', 'sqs:GetQueueAttributes', 'sqs:GetQueueUrl'],
        Resource: [expect.stringMatching(/^EmailEventsQueue/)],
        Principal: { Service: 'events.amazonaws.com' },
        Condition: {
          ArnEquals: { 'aws:SourceArn': { 'Fn::GetAtt': [expect.stringMatching(/^EmailEventsRule/), 'Arn'] } },
        },
      }),
      expect.objectContaining({
        Action: ['sns:Publish'],
        Resource: [expect.stringMatching(/^MonitoringAlarmsTopic/)],
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      }),
    ]);
  });
});
