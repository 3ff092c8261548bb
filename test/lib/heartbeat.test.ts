import { expect, it } from 'vitest';
import * as z from 'zod';
import { propertiesOf, synthesize } from '../support/stack.ts';

const heartbeatUrl = 'https://monitor.example.org/push/secret';
const { template } = synthesize({ heartbeatUrl });

it('a stack without a monitor has no heartbeat', () => {
  expect(JSON.stringify(synthesize().template.toJSON())).not.toMatch(/heartbeat/i);
});

it('the role of heartbeats can be assumed only for schedules of this account', () => {
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
});

it('only the sender of webhooks has the URL of the monitor', () => {
  const functions = propertiesOf(template, 'AWS::Lambda::Function', z.unknown());
  const withUrl = [...functions].filter(([, properties]) => JSON.stringify(properties).includes(heartbeatUrl));
  expect(withUrl.map(([id]) => id)).toEqual([expect.stringMatching(/^Deliverysendwebhook/)]);
  expect(JSON.stringify(template.toJSON()).split(heartbeatUrl)).toHaveLength(2);
});
