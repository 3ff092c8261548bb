import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { type EndpointName, endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import type { Api } from '../api.ts';
import type { MakeAlarm } from './pipeline-alarms.ts';

/** Errors in a period below which their share says nothing. */
const MIN_ERRORS = 5;
const ERROR_PERCENT = 5;
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
export const apiAlarms = (alarm: MakeAlarm, api: Api): void => {
  const period = Duration.minutes(5);
  alarm('ApiErrors', {
    metric: new MathExpression({
      expression: `IF(errors >= ${MIN_ERRORS}, 100 * errors / requests, 0)`,
      usingMetrics: {
        errors: api.httpApi.metricServerError({ period, statistic: 'Sum' }),
        requests: api.httpApi.metricCount({ period, statistic: 'Sum' }),
      },
      period,
      label: '% of requests answered 5xx',
    }),
    threshold: ERROR_PERCENT,
    periods: 2,
    impact: 'Clients get 500 or 503: they cannot manage or test their notifications. Alerts still go out.',
    firstStep: 'find the route and the status in the access log, and the error in the log of its function.',
    runbook: 'the-api-answers-5xx',
  });
  alarm('ApiLatency', {
    metric: slowestOperation(api),
    threshold: SLOW,
    periods: 3,
    impact: 'An operation of the API takes seconds for some clients. Alerts still go out.',
    firstStep: 'see on the dashboard which one, and whether DynamoDB throttles it or is slow itself.',
    runbook: 'the-api-is-slow',
  });
};
