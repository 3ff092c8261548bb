import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { propertiesOf, reference, synthesized } from '../support/stack.ts';

const actions = z.array(z.union([z.string(), reference]));
const alarmSchema = z.object({ AlarmActions: actions, OKActions: actions });

const EXISTING = 'arn:aws:sns:eu-west-1:111111111111:existing';
const { template } = synthesized();
const alarms = propertiesOf(template, 'AWS::CloudWatch::Alarm', alarmSchema);

/** Where the alarms of a stack with these settings go. */
const targetsOf = (settings: Record<string, string>) => {
  const stack = synthesized(settings);
  const all = [...propertiesOf(stack.template, 'AWS::CloudWatch::Alarm', alarmSchema).values()];
  const targets = new Set(all.flatMap(({ AlarmActions, OKActions }) => [...AlarmActions, ...OKActions]));
  return { ...stack, targets: [...targets] };
};

describe('the topic of the alarms', () => {
  it('gets every alarm, when it goes off and when it is over', () => {
    for (const { AlarmActions, OKActions } of alarms.values()) {
      expect(AlarmActions).toEqual([expect.stringMatching(/^MonitoringAlarmsTopic/)]);
      expect(OKActions).toEqual(AlarmActions);
    }
  });

  it('is encrypted with a key that rotates and that CloudWatch may use, for this account alone', () => {
    const policy = z.object({ Statement: z.array(z.unknown()) });
    const keySchema = z.object({ KeyPolicy: policy, EnableKeyRotation: z.boolean() });
    const [key, ...others] = propertiesOf(template, 'AWS::KMS::Key', keySchema);
    expect(others).toEqual([]);
    expect(key?.[1].EnableKeyRotation).toBe(true);
    expect(key?.[1].KeyPolicy.Statement).toContainEqual({
      Effect: 'Allow',
      Principal: { Service: 'cloudwatch.amazonaws.com' },
      Action: ['kms:Decrypt', 'kms:GenerateDataKey*'],
      Resource: '*',
      Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
    });
    template.hasResourceProperties('AWS::SNS::Topic', { KmsMasterKeyId: { 'Fn::GetAtt': [key?.[0], 'Arn'] } });
  });

  it('lets CloudWatch publish, and refuses plain HTTP', () => {
    const [policy] = [
      ...propertiesOf(
        template,
        'AWS::SNS::TopicPolicy',
        z.object({ PolicyDocument: z.object({ Statement: z.array(z.unknown()) }) }),
      ),
    ].filter(([id]) => id.startsWith('MonitoringAlarms'));
    expect(policy?.[1].PolicyDocument.Statement).toEqual([
      expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      expect.objectContaining({
        Effect: 'Allow',
        Action: 'sns:Publish',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      }),
    ]);
  });

  it('has no subscriber by default, and the one of the setting', () => {
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    const { template: mailed } = targetsOf({ alarmTarget: 'ops@example.org' });
    mailed.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'ops@example.org' });
  });

  it('is another one where the setting names it, and then costs nothing here', () => {
    const { template: elsewhere, targets } = targetsOf({ alarmTarget: EXISTING });
    expect(targets).toEqual([EXISTING]);
    elsewhere.resourceCountIs('AWS::KMS::Key', 0);
    elsewhere.resourceCountIs('AWS::SNS::Topic', 1);
  });

  it.each(['ops', 'arn:aws:sqs:eu-west-1:111111111111:queue'])('is refused where it is neither: %s', (alarmTarget) => {
    expect(() => synthesized({ alarmTarget })).toThrow(
      'alarmTarget: must be an email address or the ARN of an SNS topic',
    );
  });
});
