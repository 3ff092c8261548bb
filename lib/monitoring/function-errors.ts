import { Stack } from 'aws-cdk-lib';
import { Metric, type MetricProps, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { METRICS_NAMESPACE } from '../../shared/domain/delivery-metrics.ts';

/** A failed invocation, as Lambda logs it in JSON: the function threw, crashed or timed out. */
const FAILED_INVOCATION = FilterPattern.all(
  FilterPattern.stringValue('$.type', '=', 'platform.report'),
  FilterPattern.stringValue('$.record.status', '!=', 'success'),
);

/**
 * Counts the failed invocations of several functions in one metric, from their logs. The metric `Errors` of Lambda has
 * the same numbers for a single function or for the whole account only.
 */
export class FunctionErrors extends Construct {
  readonly #namespace: string;

  constructor(scope: Construct, id: string, functions: readonly { name: string; lambda: LambdaFunction }[]) {
    super(scope, id);
    // Dimensions of a metric filter are fields of the log line, and no field is the name of the stack.
    this.#namespace = `${METRICS_NAMESPACE}/${Stack.of(this).stackName}`;
    for (const { name, lambda } of functions) {
      new MetricFilter(this, name, {
        logGroup: lambda.logGroup,
        filterPattern: FAILED_INVOCATION,
        metricNamespace: this.#namespace,
        metricName: METRIC_NAME,
        metricValue: '1',
      });
    }
  }

  /** Returns the number of failed invocations. */
  metric(options: Pick<MetricProps, 'period'>): Metric {
    return new Metric({ namespace: this.#namespace, metricName: METRIC_NAME, statistic: Stats.SUM, ...options });
  }
}

const METRIC_NAME = 'function_errors';
