import { type Duration, Stack } from 'aws-cdk-lib';
import { CfnInsightRule, ConcreteWidget, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { MonitoredSender } from './monitored-resources.ts';

/** Returns the name of the rule. CloudFormation requires one; that of the stack makes it unique. */
const ruleNameIn = (scope: Construct): string => `${Stack.of(scope).stackName}-FailingTenants`;

/**
 * Shows the ten tenants with the most failed attempts, which is what the rule of `countFailingTenants` counts
 * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html).
 */
export class FailingTenantsWidget extends ConcreteWidget {
  readonly #scope: Construct;

  constructor(scope: Construct, width: number, height: number) {
    super(width, height);
    this.#scope = scope;
  }

  toJson(): object[] {
    const insightRule = { ruleName: ruleNameIn(this.#scope), maxContributorCount: 10, orderBy: 'Sum' };
    const properties = {
      title: 'Failed attempts by tenant',
      view: 'timeSeries',
      region: Stack.of(this.#scope).region,
      period: 300,
      insightRule,
    };
    return [{ type: 'metric', width: this.width, height: this.height, x: this.x, y: this.y, properties }];
  }
}

/**
 * Creates a Contributor Insights rule that counts the failed attempts in the logs of all senders by tenant, because
 * metrics have no tenant dimension. Operators can also view the rule in CloudWatch.
 *
 * @returns per period, the number of tenants with a failed attempt, the failed attempts, and those of the tenant with
 * the most
 */
export const countFailingTenants = (
  scope: Construct,
  senders: readonly MonitoredSender[],
  period: Duration,
): Record<'tenants' | 'failures' | 'excluded', MathExpression> => {
  const stack = Stack.of(scope);
  const rule = new CfnInsightRule(new Construct(scope, 'FailingTenants'), 'Rule', {
    ruleName: ruleNameIn(scope),
    ruleState: 'ENABLED',
    ruleBody: stack.toJsonString({
      Schema: { Name: 'CloudWatchLogRule', Version: 1 },
      LogGroupNames: senders.map(({ lambda }) => lambda.logGroup.logGroupName),
      LogFormat: 'JSON',
      Contribution: {
        Keys: ['$.tenant_id'],
        Filters: [
          { Match: '$.message', In: ['delivery failed'] },
          { Match: '$.cause', In: ['destination'] },
          { Match: '$.destination', In: ['called'] },
        ],
      },
      AggregateOn: 'Count',
    }),
  });
  const metric = (name: 'UniqueContributors' | 'MaxContributorValue' | 'Sum') =>
    new MathExpression({ expression: `INSIGHT_RULE_METRIC("${rule.attrRuleName}", "${name}")`, period });
  return {
    tenants: metric('UniqueContributors'),
    failures: metric('Sum'),
    excluded: metric('MaxContributorValue'),
  };
};
