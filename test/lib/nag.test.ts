import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { allSettings } from '../support/settings.ts';
import { synthesize } from '../support/stack.ts';

/** Accepted findings of the AWS Solutions rules. */
const acceptedFindings: readonly { rule: string; resource: RegExp; reason: string }[] = [
  {
    rule: 'AwsSolutions-APIG4',
    resource: /^Api\/HttpApi\/[^/]+\/Resource$/,
    reason:
      'Each function authenticates requests itself, so that all errors have the same format (docs/decisions/api.md#authentication-in-the-function).',
  },
  {
    rule: 'AwsSolutions-IAM5',
    resource: /^(Delivery\/send-\w+|Api\/opt-out)\/Role\/|^Operators\/(Read|Change)\/Resource$/,
    reason: 'The test of permissions lists each wildcard.',
  },
  {
    rule: 'AwsSolutions-SQS3',
    resource: /^Delivery\/\w+\/DeadLetters\/Resource$/,
    reason: 'These are dead-letter queues. The senders and dispatch send to them without a redrive policy.',
  },
  {
    rule: 'AwsSolutions-SQS3',
    resource: /^Reports\/Failed\/Resource$/,
    reason: 'It is a dead-letter queue. Lambda sends to it what it gives up of a stream.',
  },
  {
    rule: 'AwsSolutions-VPC7',
    resource: /^Network\/Vpc\/Resource$/,
    reason: 'Only with egress=static: flow logs would record the IP addresses of tenants, and no process uses them.',
  },
];

/** Returns the findings for a stack with these settings. */
const findingsOf = (settings: Record<string, string>): { rule: string; resource: string }[] => {
  const { stack } = synthesize(settings);
  return new AwsSolutionsChecks().validateScope(stack).violations.flatMap(({ ruleName, violatingResources }) =>
    violatingResources.map(({ constructPath = '' }) => ({
      rule: ruleName,
      resource: constructPath.slice(stack.node.path.length + 1),
    })),
  );
};

const isAccepted = ({ rule, resource }: { rule: string; resource: string }): boolean =>
  acceptedFindings.some((accepted) => rule.startsWith(accepted.rule) && accepted.resource.test(resource));

describe('cdk-nag AwsSolutions rules', () => {
  it.each([
    ['by default', {}],
    ['with all settings', allSettings],
  ])('find nothing except accepted findings: %s', (_, settings) => {
    expect(findingsOf(settings).filter((finding) => !isAccepted(finding))).toEqual([]);
  });

  it('find every accepted finding with all settings, so that the list has no obsolete entries', () => {
    const findings = findingsOf(allSettings);
    const obsolete = acceptedFindings.filter(
      ({ rule, resource }) =>
        !findings.some((finding) => finding.rule.startsWith(rule) && resource.test(finding.resource)),
    );
    expect(obsolete).toEqual([]);
  });
});
