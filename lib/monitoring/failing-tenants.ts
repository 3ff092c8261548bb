import type { Duration } from 'aws-cdk-lib';
import { Stack } from 'aws-cdk-lib';
import { CfnInsightRule, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { notSentReasons } from '../../shared/domain/delivery-metrics.ts';

/**
 * Whose destinations fail, from a sender's log: a metric cannot tell, since a tenant is no dimension. Ops can look at it, too
 * (CloudWatch, Contributor Insights).
 */
export class FailingTenants extends Construct {
  readonly #rule: CfnInsightRule;

  constructor(scope: Construct, id: string, sender: LambdaFunction) {
    super(scope, id);
    const stack = Stack.of(this);
    this.#rule = new CfnInsightRule(this, 'Rule', {
      // CloudFormation asks for a name; this one is the stack's own.
      ruleName: `${stack.stackName}-${id}`,
      ruleState: 'ENABLED',
      ruleBody: stack.toJsonString({
        Schema: { Name: 'CloudWatchLogRule', Version: 1 },
        LogGroupNames: [sender.logGroup.logGroupName],
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

  #metric(name: 'UniqueContributors' | 'MaxContributorValue', period: Duration): MathExpression {
    return new MathExpression({ expression: `INSIGHT_RULE_METRIC("${this.#rule.attrRuleName}", "${name}")`, period });
  }

  /** Tenants with a failed attempt, in each period. */
  number(period: Duration): MathExpression {
    return this.#metric('UniqueContributors', period);
  }

  /** Failed attempts of the tenant that has the most of them, in each period. */
  worst(period: Duration): MathExpression {
    return this.#metric('MaxContributorValue', period);
  }
}
