import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../../shared/contracts/notification-types.ts';
import { senderName } from '../../shared/environment.ts';
import { propertiesOf, reference, synthesized } from '../support/stack.ts';

const { template, functionIds } = synthesized();

const oneOrMore = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([schema.transform((one) => [one]), z.array(schema)]);

/** A resource of a statement as a text: its logical id, or an ARN in which `<…>` stands for what only AWS knows. */
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

/** What a function may do: the action and the resource, without the ids' hashes, its own logs aside. */
const grantsOf = (name: string): string[] => {
  const role = roleOf.get(functionIds.get(name) ?? '')?.Role;
  const statements = [...policies.values()]
    .filter(({ Roles }) => Roles.some((one) => one === role))
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
  return statements
    .flatMap(({ Action, Resource = [], NotResource = [] }) =>
      Action.flatMap((action) => [
        ...Resource.map((one) => `${action} ${one.replace(/[0-9A-F]{8}$/, '')}`),
        ...NotResource.map((one) => `${action} all but ${one}`),
      ]),
    )
    .filter((grant) => !grant.startsWith('logs:'))
    .toSorted();
};

const TOKEN = 'dynamodb:GetItem StorageTokensTable';
const onNotifications = (...actions: string[]) =>
  actions.map((action) => `dynamodb:${action} StorageNotificationsTable`);
const invokingSenders = notificationTypeIds.map(
  (type) => `lambda:InvokeFunction Delivery${senderName(type).replace('-', '')}Function`,
);

/** A write of a large notification, and the cleanup beside it. */
const WRITING = ['GetItem', 'PutItem', 'DeleteItem', 'BatchWriteItem', 'Query'];

describe('what each function of the API may do', () => {
  it.each([
    ['handle-unknown-route', []],
    ['create-notification', [TOKEN, ...onNotifications('UpdateItem', ...WRITING)]],
    ['list-notifications', [TOKEN, ...onNotifications('GetItem', 'BatchGetItem', 'Query')]],
    ['get-notification', [TOKEN, ...onNotifications('GetItem', 'BatchGetItem')]],
    ['update-notification', [TOKEN, ...onNotifications('BatchGetItem', ...WRITING)]],
    ['delete-notification', [TOKEN, ...onNotifications('UpdateItem', ...WRITING)]],
    [
      'test-notification',
      [TOKEN, 'dynamodb:UpdateItem StorageAccountsTable', ...onNotifications('BatchGetItem'), ...invokingSenders],
    ],
    ['test-new-notification', [TOKEN, 'dynamodb:UpdateItem StorageAccountsTable', ...invokingSenders]],
    ['list-notification-types', [TOKEN]],
    ['get-notification-type', [TOKEN]],
  ])('is what it does and nothing else: %s', (name, grants) => {
    expect(grantsOf(name)).toEqual(grants.toSorted());
  });
});

describe('what the functions of the pipeline may do', () => {
  const sending = (types: readonly NotificationTypeId[]) => types.map((type) => `sqs:SendMessage Delivery${type}Queue`);
  const consuming = (queue: string) => [
    ...['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility'].map(
      (action) => `sqs:${action} Delivery${queue}Queue`,
    ),
    `sqs:SendMessage Delivery${queue}DeadLetters`,
  ];
  const retrying = (type: NotificationTypeId) =>
    ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility', 'SendMessage'].map(
      (action) => `sqs:${action} Delivery${type}Retries`,
    );
  const ownQueues = (name: string) => grantsOf(name).filter((grant) => grant.startsWith('sqs:'));

  it('is, for the dispatch, to read notifications, to send to the senders, and to continue a large plan', () => {
    expect(grantsOf('dispatch-alarm-events')).toEqual(
      [
        ...onNotifications('BatchGetItem'),
        ...sending(notificationTypeIds),
        ...consuming('AlarmEvents'),
        'sqs:SendMessage DeliveryAlarmEventsQueue',
      ].toSorted(),
    );
  });

  it.each(notificationTypeIds)(
    'is to consume and retry on its own queues, bury in its own, and send to others: %s',
    (type) => {
      // Turns of incidents are asked for again on the queue itself.
      const others = notificationTypeIds.filter((one) => one !== type || notificationTypes[one].hasIncidents);
      const grants = [...sending(others), ...consuming(type), ...retrying(type)];
      expect(ownQueues(senderName(type))).toEqual(grants.toSorted());
    },
  );

  it('is to mail, to text and to tell the operators for those that do, and for no other', () => {
    const outlets = notificationTypeIds.map((type) => [
      type,
      grantsOf(senderName(type))
        .filter((grant) => /^(ses|sns):/.test(grant))
        .map((grant) => grant.split(' ')[0]),
    ]);
    const mailing = ['ses:SendEmail', 'ses:SendEmail'];
    expect(Object.fromEntries(outlets)).toEqual({
      email: mailing,
      webhook: [],
      incidentpager: [],
      sms: ['sns:Publish'],
      incidentrouter: [],
      atomfeed: [],
      technicalContactsEmail: mailing,
      managed: ['sns:Publish'],
    });
  });
});

describe('the function that records email events', () => {
  it('may read and change records of deliveries, consume its queue, and nothing else', () => {
    expect(grantsOf('record-email-events')).toEqual([
      'dynamodb:GetItem StorageDeliveriesTable',
      'dynamodb:UpdateItem StorageDeliveriesTable',
      'sqs:ChangeMessageVisibility EmailEventsQueue',
      'sqs:DeleteMessage EmailEventsQueue',
      'sqs:GetQueueAttributes EmailEventsQueue',
      'sqs:ReceiveMessage EmailEventsQueue',
    ]);
  });
});

describe('no policy', () => {
  const allowed = [...policies].flatMap(([id, { PolicyDocument }]) =>
    PolicyDocument.Statement.filter(({ Effect }) => Effect === 'Allow').map((one) => ({ id, ...one })),
  );

  it('allows all actions of a service, or more', () => {
    for (const { Action } of allowed) for (const action of Action) expect(action).toMatch(/^[a-z0-9]+:[A-Za-z]+$/);
  });

  it('allows an action on everything, but for the texts and the mails of this list', () => {
    const wide = allowed.flatMap(({ Action, Resource = [], NotResource = [] }) =>
      [...Resource.filter((one) => one.includes('*')), ...NotResource.map((one) => `all but ${one}`)].map(
        (one) => `${Action} ${one}`,
      ),
    );
    expect([...new Set(wide)].toSorted()).toEqual([
      'ses:SendEmail arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:identity/*',
      'sns:Publish all but arn:<AWS::Partition>:sns:*:*:*',
    ]);
  });

  it('allows a mail from another address than the sender’s', () => {
    const mails = allowed.filter(({ Action }) => Action.includes('ses:SendEmail'));
    expect(mails).toHaveLength(2);
    for (const { Condition } of mails) {
      expect(Condition).toEqual({ StringEquals: { 'ses:FromAddress': 'notifications@example.com' } });
    }
  });

  it('of a resource lets anybody else in, but CloudWatch to the topic of our alarms and our rule to the queue of email events', () => {
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
