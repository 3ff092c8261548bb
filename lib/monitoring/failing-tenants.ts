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

  #metric(name: 'UniqueContributors' | 'MaxContributorValue' | 'Sum', period: Duration): MathExpression {
    return new MathExpression({ expression: `INSIGHT_RULE_METRIC("${this.#rule.attrRuleName}", "${name}")`, period });
  }

  /** Returns the number of tenants with a failed attempt, per period. */
  tenantCount(period: Duration): MathExpression {
    return this.#metric('UniqueContributors', period);
  }

  /** Returns the number of failed attempts of all tenants, per period. */
  failures(period: Duration): MathExpression {
    return this.#metric('Sum', period);
  }

  /** Returns the number of failed attempts of the tenant with the most, per period. */
  maxFailuresPerTenant(period: Duration): MathExpression {
    return this.#metric('MaxContributorValue', period);
  }
}
