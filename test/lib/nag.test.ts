import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { everySetting } from '../support/settings.ts';
import { synthesized } from '../support/stack.ts';

/** What the rules of AWS Solutions find, and why it stays: the rule, where it looks, and the reason. */
const accepted: readonly { rule: string; resource: RegExp; reason: string }[] = [
  {
    rule: 'AwsSolutions-APIG4',
    resource: /^Api\/HttpApi\/[^/]+\/Resource$/,
    reason: 'Each function authenticates before anything else, so that all errors have one body and no cache is stale.',
  },
  {
    rule: 'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:identity/*]',
    resource: /^Delivery\/send-(email|technicalContactsEmail)\/Role\//,
    reason: 'SES may check the address, its domain or a parent of it: the condition on the sender limits it instead.',
  },
  {
    rule: 'AwsSolutions-IAM5[Resource::*]',
    resource: /^Delivery\/send-(webhook|incidentpager|incidentrouter|atomfeed)\/Role\//,
    reason:
      'Only with egress=static: EC2 has no other resource for these actions, and the code of functions is denied them.',
  },
  {
    rule: 'AwsSolutions-SQS3',
    resource: /^Delivery\/\w+\/DeadLetters\/Resource$/,
    reason:
      'These are dead-letter queues that the senders and the dispatch fill themselves; SQS fills the crashed queue.',
  },
  {
    rule: 'AwsSolutions-VPC7',
    resource: /^Network\/Vpc\/Resource$/,
    reason:
      'Only with egress=static: a log of flows would tell which addresses of users are called, and nobody reads it.',
  },
];

/** What the rules find, each as the rule and the resource. */
const findingsOf = (settings: Record<string, string>): { rule: string; resource: string }[] => {
  const { stack } = synthesized(settings);
  return new AwsSolutionsChecks().validateScope(stack).violations.flatMap(({ ruleName, violatingResources }) =>
    violatingResources.map(({ constructPath = '' }) => ({
      rule: ruleName,
      resource: constructPath.slice(stack.node.path.length + 1),
    })),
  );
};

const isAccepted = ({ rule, resource }: { rule: string; resource: string }): boolean =>
  accepted.some((one) => one.rule === rule && one.resource.test(resource));

describe('the rules of AWS Solutions', () => {
  it.each([
    ['by default', {}],
    ['with every setting', everySetting],
  ])('find nothing but what is accepted: %s', (_, settings) => {
    expect(findingsOf(settings).filter((finding) => !isAccepted(finding))).toEqual([]);
  });

  it('find all that is accepted, with every setting: nothing in the list has become idle', () => {
    const findings = findingsOf(everySetting);
    const idle = accepted.filter(
      ({ rule, resource }) => !findings.some((one) => one.rule === rule && resource.test(one.resource)),
    );
    expect(idle).toEqual([]);
  });

  it('are accepted for a reason each', () => {
    for (const { reason } of accepted) expect(reason).toMatch(/^.{20,}\.$/);
  });
});
