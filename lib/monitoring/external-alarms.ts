import { Duration, Stack } from 'aws-cdk-lib';
import { CfnInsightRule, ConcreteWidget, MathExpression, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { notificationTypes } from '../../shared/contracts/notification-types.ts';
import {
  ENDPOINT_FAILURE_EXCESS,
  EVENTS_RECEIVED,
  FAILURE_EXCESS,
  PRODUCER_FAULTS,
} from '../../shared/domain/delivery-metrics.ts';
import { RETRY_HOURS } from '../../shared/domain/retry-schedule.ts';
import { type Alarms, type Monitored, minute, opsCommand, type ServiceAlarm, SINGLE_PERIOD } from './alarms.ts';

/** Failed attempts of a type, less those that delivered, in 15 minutes. */
const MIN_EXCESS = 25;
const MIN_TENANTS = 3;

export const externalAlarms = (stack: Monitored): Alarms => ({
  ProducerErrors: {
    metric: stack.metric(PRODUCER_FAULTS, { period: SINGLE_PERIOD }),
    impact:
      'Alarm events are invalid, or use an event ID again with different content, and are not delivered; or they are delivered although they break a rule, such as a time that is not in milliseconds.',
    firstStep: `list the dead letters (${opsCommand(stack.scope, 'dead-letters list alarm-events')}), and search the log of dispatch for "event with warnings" and those of the senders for "event conflict".`,
    runbook: 'a-producer-sends-wrong-events',
  },
  ...missingEventsAlarm(stack),
  DestinationFailures: destinationAlarm(stack),
  EndpointFailures: endpointAlarm(stack),
});

const missingEventsAlarm = ({ metric, settings: { expectedEventIntervalMinutes: minutes } }: Monitored): Alarms =>
  minutes === undefined
    ? {}
    : {
        MissingEvents: {
          metric: new MathExpression({
            expression: 'IF(FILL(events, 0) >= 1, 0, 1)',
            usingMetrics: { events: metric(EVENTS_RECEIVED, { period: minute }) },
            // The evaluation periods last a minute each, so the longest interval is a day, the maximum of CloudWatch.
            period: minute,
            label: 'minutes without an alarm event',
          }),
          evaluationPeriods: minutes,
          // Without any event in the whole time, there is nothing to fill.
          treatMissingData: TreatMissingData.BREACHING,
          impact: `Dispatch has received no alarm event for ${minutes} minutes. If its pipeline has failed, nobody is alerted.`,
          firstStep: 'check whether the pipeline runs and is allowed to send to the queue of alarm events.',
          runbook: 'no-alarm-events',
        },
      };

/**
 * Of a type that sends by HTTP, most attempts fail, and many. It reads each type, because most alerts of a stack have one
 * type, which would hide the others. One or two tenants never trigger it.
 */
const destinationAlarm = (stack: Monitored): ServiceAlarm => {
  const period = Duration.minutes(15);
  const types = stack.resources.delivery.senders.flatMap(({ type }) =>
    notificationTypes[type].sendsByHttp ? [type] : [],
  );
  const excesses = types.map((type) => [type, stack.metric(FAILURE_EXCESS, { type, period })]);
  return {
    metric: new MathExpression({
      expression: `IF(tenants >= ${MIN_TENANTS}, MAX([${types.map((type) => `FILL(${type}, 0)`).join(', ')}]), 0)`,
      usingMetrics: { tenants: countFailingTenants(stack, period), ...Object.fromEntries(excesses) },
      period,
      label: 'failed attempts of a type, less those that delivered',
    }),
    threshold: MIN_EXCESS,
    evaluationPeriods: 2,
    impact: `Most attempts of a type fail, at the destinations of several tenants. The service retries them for about ${RETRY_HOURS} hours.`,
    firstStep:
      'find the type with the metric failure_excess, and check by status and reason in the log of its sender whether the network or the destinations fail.',
    runbook: 'destinations-of-many-tenants-fail',
  };
};

/** In three minutes, most calls of one endpoint of the operators fail. It reads each type as above. */
const endpointAlarm = ({ scope, metric, settings: { feedEndpoint } }: Monitored): ServiceAlarm => {
  const types = [
    'incidentpager',
    'incidentrouter',
    ...(feedEndpoint === undefined ? [] : ['atomfeed' as const]),
  ] as const;
  return {
    metric: new MathExpression({
      expression: `MAX([${types.map((type) => `FILL(${type}, 0)`).join(', ')}])`,
      usingMetrics: Object.fromEntries(
        types.map((type) => [type, metric(ENDPOINT_FAILURE_EXCESS, { type, period: minute })]),
      ),
      period: minute,
      label: 'failed calls of an endpoint, less the others',
    }),
    // The first attempts of one alert fall into at least three minutes: retries begin after 5 s, 30 s, 2 and 10 minutes.
    evaluationPeriods: 30,
    datapointsToAlarm: 3,
    impact:
      'Most calls of the URL of pagerEndpoint, routerEndpoint or feedEndpoint fail, for all tenants: it cannot be reached, returns 5xx, or the feed refuses its credentials.',
    firstStep: `find the type with the metric ${ENDPOINT_FAILURE_EXCESS}, and request its URL: ${opsCommand(scope, 'verify')}.`,
    runbook: 'an-endpoint-of-the-operators-fails',
  };
};

/** CloudFormation requires a name; that of the stack makes it unique. */
const ruleNameIn = (scope: Construct): string => `${Stack.of(scope).stackName}-FailingTenants`;

/**
 * Returns the number of tenants with a failed attempt, from a Contributor Insights rule that reads the logs of all senders:
 * metrics have no tenant dimension. Operators can also view the rule in CloudWatch.
 */
const countFailingTenants = ({ scope, resources }: Monitored, period: Duration) => {
  const rule = new CfnInsightRule(new Construct(scope, 'FailingTenants'), 'Rule', {
    ruleName: ruleNameIn(scope),
    ruleState: 'ENABLED',
    ruleBody: Stack.of(scope).toJsonString({
      Schema: { Name: 'CloudWatchLogRule', Version: 1 },
      LogGroupNames: resources.delivery.senders.map(({ lambda }) => lambda.logGroup.logGroupName),
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
  return new MathExpression({
    expression: `INSIGHT_RULE_METRIC("${rule.attrRuleName}", "UniqueContributors")`,
    period,
  });
};

/**
 * The ten tenants with the most failed attempts, by the same rule. The CDK has no such widget:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
 */
export class FailingTenantsWidget extends ConcreteWidget {
  readonly #scope: Construct;

  constructor(scope: Construct, width: number, height: number) {
    super(width, height);
    this.#scope = scope;
  }

  toJson(): object[] {
    const properties = {
      title: 'Failed attempts by tenant',
      view: 'timeSeries',
      region: Stack.of(this.#scope).region,
      period: 300,
      insightRule: { ruleName: ruleNameIn(this.#scope), maxContributorCount: 10, orderBy: 'Sum' },
    };
    return [{ type: 'metric', width: this.width, height: this.height, x: this.x, y: this.y, properties }];
  }
}
