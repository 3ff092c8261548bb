import { Match } from 'aws-cdk-lib/assertions';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { propertiesOf, synthesize } from '../support/stack.ts';

const heartbeatUrl = 'https://monitor.example.org/push/secret';
const { template } = synthesize({ heartbeatUrl });

it('a stack without a monitor has no heartbeat', () => {
  expect(JSON.stringify(synthesize().template.toJSON())).not.toMatch(/heartbeat/i);
});

it('a heartbeat is sent every five minutes in the message group of its tenant, at most once', () => {
  template.hasResourceProperties('AWS::Scheduler::Schedule', {
    ScheduleExpression: 'rate(5 minutes)',
    FlexibleTimeWindow: { Mode: 'OFF' },
    State: 'ENABLED',
    Target: {
      Arn: { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':scheduler:::aws-sdk:sqs:sendMessage']] },
      Input: {
        'Fn::Join': [
          '',
          Match.arrayWith([
            { Ref: Match.stringLikeRegexp('^DeliveryAlarmEvents') },
            Match.stringLikeRegexp(`"MessageGroupId":"${HEARTBEAT_TENANT}".*<aws.scheduler.execution-id>`),
          ]),
        ],
      },
      RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
      RoleArn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^DeliveryHeartbeatRole'), 'Arn'] },
    },
  });
});

it('the role of heartbeats can only send to the queue of alarm events, for schedules of this account', () => {
  const roles = propertiesOf(template, 'AWS::IAM::Role', z.object({ AssumeRolePolicyDocument: z.unknown() }));
  const [, role] = [...roles].find(([id]) => id.startsWith('DeliveryHeartbeatRole')) ?? [];
  expect(role?.AssumeRolePolicyDocument).toMatchObject({
    Statement: [
      {
        Principal: { Service: 'scheduler.amazonaws.com' },
        Condition: {
          StringEquals: {
            'aws:SourceAccount': { Ref: 'AWS::AccountId' },
            'aws:SourceArn': { 'Fn::Join': ['', expect.arrayContaining([':schedule-group/default'])] },
          },
        },
      },
    ],
  });
  template.hasResourceProperties('AWS::IAM::Policy', {
    PolicyName: Match.stringLikeRegexp('^DeliveryHeartbeatRole'),
    PolicyDocument: {
      Statement: [
        {
          Action: 'sqs:SendMessage',
          Effect: 'Allow',
          Resource: { 'Fn::GetAtt': [Match.stringLikeRegexp('^DeliveryAlarmEventsQueue'), 'Arn'] },
        },
      ],
    },
  });
});

it('only the sender of webhooks has the URL of the monitor', () => {
  const functions = propertiesOf(template, 'AWS::Lambda::Function', z.unknown());
  const withUrl = [...functions].filter(([, properties]) => JSON.stringify(properties).includes(heartbeatUrl));
  expect(withUrl.map(([id]) => id)).toEqual([expect.stringMatching(/^Deliverysendwebhook/)]);
  expect(JSON.stringify(template.toJSON()).split(heartbeatUrl)).toHaveLength(2);
});
