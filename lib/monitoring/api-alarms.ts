import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { type EndpointName, endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import type { Api } from '../api.ts';
import { OUTAGE_PERIOD } from './consumer-alarms.ts';
import type { MakeAlarm } from './service-alarm.ts';
import type { ServiceMetrics } from './service-metrics.ts';

/** A slow answer, in ms: reads take some tens. */
const SLOW = 2_000;

/** A test takes as long as the destination that it tests: up to 15 s, and no fault of ours. */
const isTest = (name: EndpointName): boolean => endpoints[name].permission === 'test';

/** The slowest of the operations: the 99th percentile of how long its function takes. */
export const slowestOperation = ({ functions }: Api): IMetric =>
  new MathExpression({
    expression: 'MAX(METRICS())',
    usingMetrics: Object.fromEntries(
      endpointNames
        .filter((name) => !isTest(name))
        .flatMap((name, index) => {
          const lambda = functions.get(name);
          return lambda ? [[`p${index}`, lambda.metricDuration({ statistic: 'p99', label: name })]] : [];
        }),
    ),
    period: Duration.minutes(5),
    label: 'slowest operation, p99',
  });

/** Alarms of the API. */
export const apiAlarms = (alarm: MakeAlarm, api: Api, metrics: ServiceMetrics): void => {
  const reading = { period: OUTAGE_PERIOD, statistic: Stats.SUM };
  alarm('ApiErrors', {
    metric: new MathExpression({
      // One operation that fails altogether must show, however many requests the others have. What DynamoDB throttles at the
      // caller's own key is answered 503 as well, and is no outage.
      expression: 'IF(FILL(errors, 0) - FILL(throttled, 0) >= 1, 1, 0)',
      usingMetrics: {
        errors: api.httpApi.metricServerError(reading),
        throttled: metrics.count('throttled_requests', reading),
      },
      period: OUTAGE_PERIOD,
      label: 'requests are answered 5xx',
    }),
    threshold: 1,
    // Two in a row: the newest of the three is not complete.
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
    impact: 'Clients get 500 or 503: they cannot manage or test their notifications. Alerts are still delivered.',
    firstStep: 'find the route and the status in the access log, and the error in the log of its function.',
    runbook: 'the-api-returns-5xx',
  });
  alarm('ApiLatency', {
    metric: slowestOperation(api),
    threshold: SLOW,
    evaluationPeriods: 3,
    impact: 'An operation of the API takes seconds for some clients. Alerts are still delivered.',
    firstStep: 'find on the dashboard which one, and whether DynamoDB throttles it or is slow itself.',
    runbook: 'the-api-is-slow',
  });
};
