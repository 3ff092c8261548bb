import { Duration } from 'aws-cdk-lib';
import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { DELIVERY_LATENCY, PRODUCER_FAULTS } from '../../shared/domain/delivery-metrics.ts';
import { FailingTenants } from './failing-tenants.ts';
import type { MonitoredSender } from './monitored-resources.ts';
import { opsCommand } from './ops-command.ts';
import type { AddAlarm } from './service-alarm.ts';
import type { ServiceMetrics } from './service-metrics.ts';

/** The period in which a single occurrence fires an alarm. */
const SINGLE_PERIOD = Duration.minutes(5);

/**
 * The alarm on destinations needs this percentage of failures, this many attempts, and failures of this many tenants.
 */
const FAILURE_PERCENT = 50;
const MIN_ATTEMPTS = 50;
const MIN_TENANTS = 3;

/**
 * Adds the alarm on failing destinations. One tenant alone never triggers it: the alarm excludes the failures of the
 * tenant with the most, and requires failures of at least three tenants.
 */
const addDestinationAlarm = (
  scope: Construct,
  addAlarm: AddAlarm,
  metrics: ServiceMetrics,
  senders: readonly MonitoredSender[],
): void => {
  const period = Duration.minutes(15);
  const failing = new FailingTenants(
    scope,
    'FailingTenants',
    senders.map(({ lambda }) => lambda),
  );
  const attempts = '(failures - excluded + FILL(delivered, 0))';
  addAlarm('DestinationFailures', {
    metric: new MathExpression({
      expression: `IF(tenants >= ${MIN_TENANTS} AND ${attempts} >= ${MIN_ATTEMPTS}, 100 * (failures - excluded) / ${attempts}, 0)`,
      usingMetrics: {
        ...failing.metrics(period),
        delivered: metrics.total(DELIVERY_LATENCY, { statistic: Stats.SAMPLE_COUNT, period }),
      },
      period,
      label: 'failed attempts without the tenant with the most failures, %',
    }),
    threshold: FAILURE_PERCENT,
    evaluationPeriods: 2,
    impact: 'Most attempts fail at the destinations of several tenants. The service retries them for about 8 hours.',
    firstStep:
      'find the type on the dashboard, and check by status and reason in the log of its sender whether the network or the destinations fail.',
    runbook: 'destinations-of-many-tenants-fail',
  });
};

/** Adds the alarms on alerts that the service gives up, and on SES, SNS and destinations that fail. */
export const deliveryAlarms = (
  scope: Construct,
  addAlarm: AddAlarm,
  metrics: ServiceMetrics,
  senders: readonly MonitoredSender[],
): void => {
  addAlarm('ServiceDeadLetters', {
    metric: metrics.total('dead_lettered_service', { period: SINGLE_PERIOD }),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'Alerts were dead-lettered because of a failure in the service. They did not reach their destinations.',
    firstStep: `list them with their reasons: ${opsCommand(scope, 'dead-letters list')}.`,
    runbook: 'dead-letters-of-the-service',
  });
  addAlarm('ProducerErrors', {
    metric: metrics.count(PRODUCER_FAULTS, { period: SINGLE_PERIOD }),
    threshold: 1,
    evaluationPeriods: 1,
    impact:
      'Alarm events are invalid, or use an event ID again with different content, and are not delivered; or they are delivered although they break a rule, such as a time that is not in milliseconds.',
    firstStep: `list the dead letters (${opsCommand(scope, 'dead-letters list alarm-events')}), and search the log of dispatch for "event with warnings" and those of the senders for "event conflict".`,
    runbook: 'a-producer-sends-wrong-events',
  });
  addAlarm('NoticesNotQueued', {
    metric: metrics.count('notices_not_queued', { period: SINGLE_PERIOD }),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'An alert failed, and the notice to the technical contacts or operators could not be queued.',
    firstStep:
      'find the tenant and the event in the logs (message "notice not queued"), and notify the tenant manually.',
    runbook: 'notices-are-not-queued',
  });
  addAlarm('SendingFailures', {
    metric: metrics.total('service_failures', { period: Duration.minutes(1) }),
    threshold: 1,
    // An email that SES rejects because of the daily quota is retried after 60 to 72 minutes; both attempts must be in
    // the window. The period is one minute, because CloudWatch evaluates longer periods as sliding windows, which would
    // only sometimes contain two attempts.
    evaluationPeriods: 75,
    datapointsToAlarm: 2,
    impact: 'SES or SNS fails, throttles or rejects emails, SMS or messages to operators. The service retries them.',
    firstStep:
      'find the type on the dashboard (Attempts failed by SES and SNS), and the reasons in the log of its sender.',
    runbook: 'ses-or-sns-fails',
  });
  addDestinationAlarm(scope, addAlarm, metrics, senders);
};
