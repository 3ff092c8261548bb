import { type Duration, Stack } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
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
 * Counts the failed invocations of several functions in one metric, from their logs, and returns it. The metric
 * `Errors` of Lambda has the same numbers for a single function or for the whole account only.
 */
export const countFunctionErrors = (
  scope: Construct,
  period: Duration,
  functions: Readonly<Record<string, LambdaFunction>>,
): Metric => {
  const filters = new Construct(scope, 'FunctionErrorCount');
  const metricName = 'function_errors';
  // Dimensions of a metric filter are fields of the log line, and no field is the name of the stack.
  const namespace = `${METRICS_NAMESPACE}/${Stack.of(scope).stackName}`;
  for (const [name, { logGroup }] of Object.entries(functions)) {
    new MetricFilter(filters, name, {
      logGroup,
      filterPattern: FAILED_INVOCATION,
      metricNamespace: namespace,
      metricName,
      metricValue: '1',
    });
  }
  return new Metric({ namespace, metricName, statistic: Stats.SUM, period });
};
