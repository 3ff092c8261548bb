import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { Delivery, DeliveryLine } from '../delivery.ts';
import { FailingTenants } from './failing-tenants.ts';
import type { ServiceAlarmProps } from './service-alarm.ts';
import type { ServiceMetrics } from './service-metrics.ts';

/** Makes an alarm of the stack. */
export type MakeAlarm = (id: string, props: ServiceAlarmProps) => void;

const minutes = Duration.minutes;

/** Half of what SQS lets a queue have in flight; above all of it, it hands out nothing. */
const MANY_IN_FLIGHT = 60_000;

/**
 * Oldest message, in seconds: events are dispatched within a second. A delivery may be put back for some minutes where
 * something of ours fails.
 */
const OLD_EVENT = 120;
const OLD_DELIVERY = 300;

/** A retry waits so long on its queue by design, in seconds: SQS delays a message no longer. */
const LONGEST_DELAY = 900;

/** A type's destinations fail: this share of the attempts, of at least so many, and at least so many tenants'. */
const FAILURE_PERCENT = 50;
const MIN_ATTEMPTS = 50;
const MIN_TENANTS = 3;

const perMinute = { period: minutes(1), statistic: Stats.MAXIMUM };

const queueAlarms = (
  alarm: MakeAlarm,
  name: string,
  { late, inFlight, oldest }: { late: IMetric; inFlight: IMetric; oldest: number },
) => {
  alarm(`QueueAge-${name}`, {
    metric: late,
    threshold: oldest,
    periods: 3,
    impact: `Alerts come late: a message on the queue ${name} has waited ${oldest / 60} minutes longer than it should.`,
    firstStep: 'see on the dashboard whether its function fails, is throttled, or is too slow for what comes in.',
    runbook: 'messages-wait-too-long',
  });
  alarm(`InFlight-${name}`, {
    metric: inFlight,
    threshold: MANY_IN_FLIGHT,
    periods: 3,
    impact: `The queue ${name} hands out nothing more at 120,000 messages in flight, and is at half of that.`,
    firstStep: 'find in the log of its function why so many messages are put back.',
    runbook: 'too-many-messages-in-flight',
  });
};

/** The worse of what is new and what is tried again: a queue that has been quiet for hours has no values, and counts as 0. */
const worse = (expression: string, fresh: IMetric, retries: IMetric, label: string): IMetric =>
  new MathExpression({ expression, usingMetrics: { fresh, retries }, period: minutes(1), label });

/** How long the oldest message of a type has waited longer than it should, in seconds. */
const lateness = ({ type, queue: { queue, retries } }: DeliveryLine): IMetric => {
  const age = (one: Queue) => one.metricApproximateAgeOfOldestMessage(perMinute);
  const expression = `MAX([FILL(fresh, 0), FILL(retries, 0) - ${LONGEST_DELAY}])`;
  return worse(expression, age(queue), age(retries), `oldest of ${type}, s late`);
};

/** How many messages of a type are in flight, on the one of its queues that has more. */
const mostInFlight = ({ type, queue: { queue, retries } }: DeliveryLine): IMetric => {
  const inFlight = (one: Queue) => one.metricApproximateNumberOfMessagesNotVisible(perMinute);
  const expression = 'MAX([FILL(fresh, 0), FILL(retries, 0)])';
  return worse(expression, inFlight(queue), inFlight(retries), `in flight of ${type}`);
};

/**
 * One tenant's destinations never raise it, however dead they are and however much is sent to them: the share leaves out the
 * failures of the tenant that has most of them, and counts only while those of others fail, too.
 */
const destinationAlarm = (
  scope: Construct,
  alarm: MakeAlarm,
  metrics: ServiceMetrics,
  { type, sender }: DeliveryLine,
) => {
  const period = minutes(15);
  const failing = new FailingTenants(scope, `FailingTenants-${type}`, sender);
  alarm(`DestinationFailures-${type}`, {
    metric: new MathExpression({
      expression: `IF(tenants >= ${MIN_TENANTS} AND attempts - worst >= ${MIN_ATTEMPTS}, 100 * (failures - worst) / (attempts - worst), 0)`,
      usingMetrics: {
        tenants: failing.number(period),
        worst: failing.worst(period),
        attempts: metrics.deliveries('destination_attempts', type, { period }),
        failures: metrics.deliveries('destination_failures', type, { period }),
      },
      period,
      label: `% of attempts by ${type} that failed, without the worst tenant`,
    }),
    threshold: FAILURE_PERCENT,
    periods: 2,
    impact: `Most alerts by ${type} fail, to the destinations of several tenants; they are retried for about 8 hours.`,
    firstStep: 'see by status and reason in the log of the sender whether it is our way out or the other side.',
    runbook: 'destinations-of-many-tenants-fail',
  });
};

/** Alarms of the pipeline: queues, destinations, and what the senders count. */
export const pipelineAlarms = (
  scope: Construct,
  alarm: MakeAlarm,
  metrics: ServiceMetrics,
  delivery: Delivery,
): void => {
  alarm('DeadAlarmEvents', {
    metric: delivery.alarmEvents.deadLetterQueue.metricApproximateNumberOfMessagesVisible({
      period: minutes(1),
      statistic: Stats.MAXIMUM,
    }),
    threshold: 1,
    periods: 1,
    impact: 'Alarm events could not be read, or not be dispatched: nobody heard of them.',
    firstStep: 'list them with their reasons: npm run ops -- dead-letters list alarm-events.',
    runbook: 'alarm-events-are-dead',
  });
  alarm('DeadLettersOfService', {
    metric: metrics.allDeliveries('dead_service'),
    threshold: 1,
    periods: 1,
    impact: 'Alerts were given up through a fault of ours: their destinations did not hear of them.',
    firstStep: 'list them with their reasons: npm run ops -- dead-letters list.',
    runbook: 'dead-letters-of-the-service',
  });
  alarm('SendingMisconfigured', {
    metric: metrics.allDeliveries('misconfigured', { period: minutes(15) }),
    threshold: 1,
    periods: 1,
    impact:
      'AWS refuses mails or texts of ours for what is set up here: they are retried for about 8 hours, then dead.',
    firstStep:
      'look in SES at the identity, the sandbox and whether sending is paused, and in SNS at the text settings.',
    runbook: 'aws-refuses-our-mails-or-texts',
  });
  alarm('SendingOverQuota', {
    metric: metrics.allDeliveries('aws_quota_exceeded', { period: minutes(5) }),
    threshold: 1,
    periods: 3,
    impact: 'Mails or texts wait: they are more than our account may send at a time, or in a day.',
    firstStep: 'compare the sending rate and the daily quota with what is sent: aws ses get-send-quota.',
    runbook: 'mails-or-texts-over-the-quota',
  });
  alarm('TenantOverLimit', {
    metric: metrics.allDeliveries('tenant_limit_exceeded', { period: minutes(15) }),
    threshold: 1,
    periods: 1,
    impact: 'A tenant is over a limit of the day: its further alerts of that type are given up until midnight UTC.',
    firstStep: 'find the tenant in the log of the sender (reason "daily limit").',
    runbook: 'a-tenant-is-over-its-daily-limit',
  });
  const { queue } = delivery.alarmEvents;
  queueAlarms(alarm, 'alarm-events', {
    late: queue.metricApproximateAgeOfOldestMessage(perMinute),
    inFlight: queue.metricApproximateNumberOfMessagesNotVisible(perMinute),
    oldest: OLD_EVENT,
  });
  for (const line of delivery.lines) {
    queueAlarms(alarm, line.type, { late: lateness(line), inFlight: mostInFlight(line), oldest: OLD_DELIVERY });
    destinationAlarm(scope, alarm, metrics, line);
  }
};
