import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

const actions = z.array(z.union([z.string(), reference]));
const alarmSchema = z.object({ AlarmActions: actions, OKActions: actions });

const EXISTING = 'arn:aws:sns:eu-west-1:111111111111:existing';
const { template } = synthesize();
const alarms = propertiesOf(template, 'AWS::CloudWatch::Alarm', alarmSchema);

/** Synthesizes the stack with these settings, and returns the ARNs of its alarm actions. */
const targetsOf = (settings: Record<string, string>) => {
  const stack = synthesize(settings);
  const alarms = [...propertiesOf(stack.template, 'AWS::CloudWatch::Alarm', alarmSchema).values()];
  const targets = new Set(alarms.flatMap(({ AlarmActions, OKActions }) => [...AlarmActions, ...OKActions]));
  return { ...stack, targets: [...targets] };
};

describe('the alarm topic', () => {
  it('receives every alarm on ALARM and on OK', () => {
    for (const { AlarmActions, OKActions } of alarms.values()) {
      expect(AlarmActions).toEqual([expect.stringMatching(/^MonitoringAlarmsTopic/)]);
      expect(OKActions).toEqual(AlarmActions);
    }
  });

  it('is encrypted with a rotating key that CloudWatch alarms of this account may use', () => {
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

  it('has no subscription by default, and one for an email address in alarmTarget', () => {
    template.resourcePropertiesCountIs('AWS::SNS::Subscription', { Protocol: 'email' }, 0);
    const { template: subscribed } = targetsOf({ alarmTarget: 'ops@example.org' });
    subscribed.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'ops@example.org' });
  });

  it('is replaced by the topic in alarmTarget', () => {
    const { template: replaced, targets } = targetsOf({ alarmTarget: EXISTING });
    expect(targets).toEqual([EXISTING]);
    // Those of operators and of email events.
    replaced.resourceCountIs('AWS::SNS::Topic', 2);
  });

  it.each(['ops', 'arn:aws:sqs:eu-west-1:111111111111:queue'])(
    'rejects an alarmTarget that is neither an email address nor a topic ARN: %s',
    (alarmTarget) => {
      expect(() => synthesize({ alarmTarget })).toThrow(
        'alarmTarget must be an email address or the ARN of an SNS topic',
      );
    },
  );
});
