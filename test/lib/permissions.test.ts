import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

const { template } = synthesize();

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

const policies = propertiesOf(template, 'AWS::IAM::Policy', z.object({ PolicyDocument: policyDocument }));
describe('policies', () => {
  const allowed = [...policies.values()].flatMap(({ PolicyDocument }) =>
    PolicyDocument.Statement.filter(({ Effect }) => Effect === 'Allow'),
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
      'ses:SendRawEmail arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:identity/*',
      'sns:Publish all but arn:<AWS::Partition>:sns:*:*:*',
    ]);
  });

  it('allow emails from the configured sender address only', () => {
    const emails = allowed.filter(({ Action }) => Action.includes('ses:SendRawEmail'));
    expect(emails).toHaveLength(3);
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
