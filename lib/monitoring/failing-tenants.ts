import type { Duration } from 'aws-cdk-lib';
import { Stack } from 'aws-cdk-lib';
import { CfnInsightRule, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { notSentReasons } from '../../shared/domain/delivery-metrics.ts';

/**
 * A Contributor Insights rule that counts the failed attempts in the logs of all senders by tenant, because metrics have
 * no tenant dimension. Operators can also view the rule in CloudWatch.
 */
export class FailingTenants extends Construct {
  readonly #rule: CfnInsightRule;

  constructor(scope: Construct, id: string, senders: readonly LambdaFunction[]) {
    super(scope, id);
    const stack = Stack.of(this);
    this.#rule = new CfnInsightRule(this, 'Rule', {
      // CloudFormation requires a name; the stack name makes it unique.
      ruleName: `${stack.stackName}-${id}`,
      ruleState: 'ENABLED',
      ruleBody: stack.toJsonString({
        Schema: { Name: 'CloudWatchLogRule', Version: 1 },
        LogGroupNames: senders.map(({ logGroup }) => logGroup.logGroupName),
        LogFormat: 'JSON',
        Contribution: {
          Keys: ['$.tenant_id'],
          Filters: [
            { Match: '$.message', In: ['delivery failed'] },
            { Match: '$.cause', In: ['destination'] },
            { Match: '$.reason', NotIn: notSentReasons },
          ],
        },
        AggregateOn: 'Count',
      }),
    });
  }

  /** Returns, per period, the number of tenants with a failed attempt, the failed attempts, and those of the tenant with most. */
  metrics(period: Duration): Record<'tenants' | 'failures' | 'excluded', MathExpression> {
    const metric = (name: 'UniqueContributors' | 'MaxContributorValue' | 'Sum') =>
      new MathExpression({ expression: `INSIGHT_RULE_METRIC("${this.#rule.attrRuleName}", "${name}")`, period });
    return {
      tenants: metric('UniqueContributors'),
      failures: metric('Sum'),
      excluded: metric('MaxContributorValue'),
    };
  }
}
