import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { NETWORK_INTERFACE_ACTIONS } from '../../lib/network.ts';
import { allSettings } from '../support/settings.ts';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

const NETWORK_ACTIONS = NETWORK_INTERFACE_ACTIONS.join();
/** The calls of operators that support no other resource. */
const ACCOUNT_READS = [
  'sns:Unsubscribe',
  'sns:GetSMSAttributes',
  'sns:GetSMSSandboxAccountStatus',
  'ses:GetAccountSendingEnabled',
  'ses:GetIdentityDkimAttributes',
  'ses:GetIdentityVerificationAttributes',
  'ses:GetSendQuota',
  'lambda:GetAccountSettings',
  'lambda:ListEventSourceMappings',
].join();
const { template } = synthesize(allSettings);

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

const withDocument = z.object({ PolicyDocument: policyDocument });
const policies = propertiesOf(template, 'AWS::IAM::Policy', withDocument);
const ofOperators = propertiesOf(template, 'AWS::IAM::ManagedPolicy', withDocument);
describe('policies', () => {
  const allowed = [...policies.values(), ...ofOperators.values()].flatMap(({ PolicyDocument }) =>
    PolicyDocument.Statement.filter(({ Effect }) => Effect === 'Allow'),
  );

  it('contain no wildcard actions', () => {
    for (const { Action } of allowed) for (const action of Action) expect(action).toMatch(/^[a-z0-9]+:[A-Za-z]+$/);
  });

  it('contain no wildcard resources except for emails, SMS, network interfaces, and what operators need', () => {
    const wide = allowed.flatMap(({ Action, Resource = [], NotResource = [] }) =>
      [...Resource.filter((arn) => arn.includes('*')), ...NotResource.map((arn) => `all but ${arn}`)].map(
        (resources) => `${Action} ${resources}`,
      ),
    );
    expect([...new Set(wide)].toSorted()).toEqual([
      'cloudformation:DescribeStacks,cloudformation:ListStackResources arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/MonitoringNotifications/*',
      'cloudwatch:GetMetricData,cloudwatch:DescribeAlarms,sqs:GetQueueAttributes *',
      `${NETWORK_ACTIONS} *`,
      'ses:SendRawEmail arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:identity/*',
      'sns:Publish all but arn:<AWS::Partition>:sns:*:*:*',
      `${ACCOUNT_READS} *`,
      'sqs:CreateQueue,sqs:DeleteQueue,sqs:ReceiveMessage arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:ops-verify-*',
    ]);
  });

  it('allow operators to subscribe only the queues of their check', () => {
    const [subscription, ...others] = allowed.filter(({ Action }) => Action.includes('sns:Subscribe'));
    expect(others).toEqual([]);
    expect(subscription?.Condition).toEqual({
      StringEquals: { 'sns:Protocol': 'sqs' },
      StringLike: {
        'sns:Endpoint': {
          'Fn::Join': [
            '',
            [
              'arn:',
              { Ref: 'AWS::Partition' },
              ':sqs:',
              { Ref: 'AWS::Region' },
              ':',
              { Ref: 'AWS::AccountId' },
              ':ops-verify-*',
            ],
          ],
        },
      },
    });
  });

  it('allow emails from the configured sender address only', () => {
    const emails = allowed.filter(({ Action }) => Action.includes('ses:SendRawEmail'));
    expect(emails).toHaveLength(2);
    for (const { Condition } of emails) {
      expect(Condition).toEqual({ StringEquals: { 'ses:FromAddress': 'alerts@example.org' } });
    }
  });

  it('allow Lambda to manage network interfaces with the roles of functions in the VPC, and deny it to their code', () => {
    const ofNetwork = [...policies.values()]
      .map(({ PolicyDocument: { Statement } }) => Statement.filter(({ Action }) => Action.join() === NETWORK_ACTIONS))
      .filter((statements) => statements.length > 0);
    const inVpc = propertiesOf(template, 'AWS::Lambda::Function', z.object({ VpcConfig: z.unknown().optional() }));
    expect(ofNetwork).toHaveLength([...inVpc.values()].filter(({ VpcConfig }) => VpcConfig).length);
    for (const statements of ofNetwork)
      expect(statements).toMatchObject([{ Effect: 'Allow' }, { Effect: 'Deny', Condition: { ArnLike: {} } }]);
    template.hasResourceProperties('AWS::EC2::SecurityGroup', {
      SecurityGroupEgress: [{ CidrIp: '0.0.0.0/0', IpProtocol: 'tcp', FromPort: 0, ToPort: 65_535 }],
    });
  });

  it('of queues, topics and keys allow alarms of CloudWatch, events of SES, producers to send events, and these and the account to subscribe to outcomes', () => {
    const withPolicy = z.object({ PolicyDocument: policyDocument });
    const queues = propertiesOf(template, 'AWS::SQS::QueuePolicy', withPolicy);
    const topics = propertiesOf(template, 'AWS::SNS::TopicPolicy', withPolicy);
    const keys = propertiesOf(template, 'AWS::KMS::Key', z.object({ KeyPolicy: policyDocument }));
    const policies = [
      ...[...queues.values(), ...topics.values()].map(({ PolicyDocument }) => PolicyDocument),
      ...[...keys.values()].map(({ KeyPolicy }) => KeyPolicy),
    ];
    const ofStack = { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } };
    const configurationSet = expect.objectContaining({ 'Fn::Join': expect.anything() });
    const fromTopic = { ArnEquals: { 'aws:SourceArn': { Ref: expect.stringMatching(/^EmailEventsTopic/) } } };
    const allowed = policies
      .flatMap(({ Statement }) => Statement)
      .filter(({ Effect, Action }) => Effect !== 'Deny' && !Action.includes('kms:*'))
      .map(({ Action, Resource, Principal, Condition }) => [
        `${JSON.stringify(Principal)} ${Action.join(' ')} ${Resource}`,
        Condition,
      ]);
    const key = 'kms:Decrypt kms:GenerateDataKey*';
    expect(allowed).toEqual([
      [expect.stringMatching(/sns.amazonaws.com"} sqs:SendMessage CrashedQueue/), fromTopic],
      [
        expect.stringMatching(
          /222222222222:root[^}]*}} sqs:SendMessage sqs:GetQueueAttributes sqs:GetQueueUrl DeliveryAlarmEventsQueue/,
        ),
        undefined,
      ],
      [expect.stringMatching(/sns.amazonaws.com"} sqs:SendMessage EmailEventsQueue/), fromTopic],
      [
        expect.stringMatching(/ses.amazonaws.com"} sns:Publish EmailEventsTopic/),
        { StringEquals: { 'AWS:SourceAccount': { Ref: 'AWS::AccountId' }, 'AWS:SourceArn': configurationSet } },
      ],
      [
        expect.stringMatching(
          /AccountId"},":root"[^}]*},[^}]*},":iam::222222222222:root"[^}]*}\]} sns:Subscribe ReportsOutcomes/,
        ),
        undefined,
      ],
      [
        expect.stringMatching(/cloudwatch.amazonaws.com"} sns:Publish MonitoringAlarmsTopic/),
        { StringEquals: ofStack },
      ],
      [`{"Service":"ses.amazonaws.com"} ${key} *`, { StringEquals: ofStack }],
      [`{"Service":"cloudwatch.amazonaws.com"} ${key} *`, { StringEquals: ofStack }],
    ]);
  });
});
