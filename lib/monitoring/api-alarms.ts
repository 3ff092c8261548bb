import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { type EndpointName, endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import type { Api } from '../api.ts';
import { OUTAGE_PERIOD } from './consumer-alarms.ts';
import type { AddAlarm } from './service-alarm.ts';
import type { ServiceMetrics } from './service-metrics.ts';

/**
 * Returns whether the latency graph covers an operation. A test takes as long as its destination, up to 15 s, and a
 * redelivery as long as its messages need, so their latency does not measure the API. Administration is rare and uses
 * the same tables as the other operations.
 */
const isWatched = (name: EndpointName): boolean =>
  !['test', 'redeliver', 'administer'].includes(endpoints[name].permission);

/** Returns the highest p99 duration among the functions of the covered operations, in milliseconds. */
export const slowestOperation = ({ functions }: Api): IMetric =>
  new MathExpression({
    expression: 'MAX(METRICS())',
    usingMetrics: Object.fromEntries(
      endpointNames.filter(isWatched).flatMap((name, index) => {
        const lambda = functions.get(name);
        return lambda ? [[`p${index}`, lambda.metricDuration({ statistic: 'p99', label: name })]] : [];
      }),
    ),
    period: Duration.minutes(5),
    label: 'slowest operation, p99',
  });

/** Adds the alarm of the API. */
export const apiAlarms = (addAlarm: AddAlarm, api: Api, metrics: ServiceMetrics): void => {
  const options = { period: OUTAGE_PERIOD, statistic: Stats.SUM };
  addAlarm('ApiErrors', {
    metric: new MathExpression({
      // A count, because a rate would hide one failing operation among many requests. A request that DynamoDB throttles
      // for the tenant's own partition key also returns 503, but is not an outage.
      expression: 'IF(FILL(errors, 0) - FILL(throttled, 0) >= 1, 1, 0)',
      usingMetrics: {
        errors: api.httpApi.metricServerError(options),
        throttled: metrics.count('throttled_requests', options),
      },
      period: OUTAGE_PERIOD,
      label: '5xx responses',
    }),
    threshold: 1,
    // Three periods, because the newest is incomplete.
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
    impact:
      'The API returns 500 or 503: clients cannot manage or test their notifications. Alerts are still delivered.',
    firstStep: 'find the route and the status in the access log, and the error in the log of its function.',
    runbook: 'the-api-returns-5xx',
  });
};
