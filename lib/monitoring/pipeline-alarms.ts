import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { Delivery, DeliveryLine } from '../delivery.ts';
import { ActiveQueue } from './active-queue.ts';
import { FailingTenants } from './failing-tenants.ts';
import type { MakeAlarm } from './service-alarm.ts';
import type { ServiceMetrics } from './service-metrics.ts';

const minutes = Duration.minutes;

/** Half of what SQS lets a queue have in flight; above all of it, it hands out nothing. */
const MANY_IN_FLIGHT = 60_000;

/** The age in seconds at which the oldest message is late: events are dispatched, and alerts sent, within a second. */
const OLD_EVENT_SECONDS = 120;
const OLD_DELIVERY_SECONDS = 300;

/** How long a retry waits on its queue by design, in seconds: SQS delays a message no longer. */
const LONGEST_DELAY_SECONDS = 900;

/** A type's destinations fail: this share of the attempts, of at least so many, and at least so many tenants'. */
const FAILURE_PERCENT = 50;
const MIN_ATTEMPTS = 50;
const MIN_TENANTS = 3;

/**
 * Three minutes in a row, of four: SQS reports a minute late, and an expression that fills what is missing is 0 for the newest
 * minute then. In three of three periods it would never be breaching.
 */
const THREE_MINUTES = { evaluationPeriods: 4, datapointsToAlarm: 3 };

const perMinute = { period: minutes(1), statistic: Stats.MAXIMUM };

const queueAlarms = (
  alarm: MakeAlarm,
  name: string,
  { late, inFlight, oldestSeconds }: { late: IMetric; inFlight: IMetric; oldestSeconds: number },
) => {
  alarm(`QueueAge-${name}`, {
    metric: late,
    threshold: oldestSeconds,
    ...THREE_MINUTES,
    impact: `Alerts are late: a message on the queue ${name} has waited ${oldestSeconds / 60} minutes longer than it should.`,
    firstStep: 'find on the dashboard whether its function fails, is throttled, or is too slow for what arrives.',
    runbook: 'messages-wait-too-long',
  });
  alarm(`InFlight-${name}`, {
    metric: inFlight,
    threshold: MANY_IN_FLIGHT,
    ...THREE_MINUTES,
    impact: `SQS returns no more messages of ${name} at 120,000 in flight, and half of that is reached.`,
    firstStep: 'find in the log of its function why so many messages are returned to the queue.',
    runbook: 'too-many-messages-in-flight',
  });
};

/** The worse of first attempts and retries: a queue that was inactive for hours has no values, and counts as 0. */
const worse = (expression: string, fresh: IMetric, retries: IMetric, label: string): IMetric =>
  new MathExpression({ expression, usingMetrics: { fresh, retries }, period: minutes(1), label });

/** How long the oldest message of a type has waited longer than it should, in seconds. */
const lateness = ({ type, queue: { queue, retries } }: DeliveryLine): IMetric => {
  const age = (one: Queue) => one.metricApproximateAgeOfOldestMessage(perMinute);
  const expression = `MAX([FILL(fresh, 0), FILL(retries, 0) - ${LONGEST_DELAY_SECONDS}])`;
  return worse(expression, age(queue), age(retries), `oldest of ${type}, s late`);
};

/** How many messages of a type are in flight, on the one of its queues that has more. */
const mostInFlight = ({ type, queue: { queue, retries } }: DeliveryLine): IMetric => {
  const inFlight = (one: Queue) => one.metricApproximateNumberOfMessagesNotVisible(perMinute);
  const expression = 'MAX([FILL(fresh, 0), FILL(retries, 0)])';
  return worse(expression, inFlight(queue), inFlight(retries), `in flight of ${type}`);
};

/**
 * The destinations of one tenant never make it fire, whatever their share of the attempts: the failures of the tenant that has
 * most of them are left out, and the others count only while at least three tenants have failures.
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
    evaluationPeriods: 2,
    impact: `Most alerts by ${type} fail, to the destinations of several tenants; they are retried for about 8 hours.`,
    firstStep: 'find by status and reason in the log of the sender whether our network or the destinations fail.',
    runbook: 'destinations-of-many-tenants-fail',
  });
};

/** One message is an alarm, until the queue is known to be empty: SQS stops reporting a queue that nobody uses. */
const emptyQueueMetric = (queue: Queue) => ({
  metric: queue.metricApproximateNumberOfMessagesVisible(perMinute),
  threshold: 1,
  evaluationPeriods: 1,
  treatMissingData: TreatMissingData.IGNORE,
});

/** Alarms of the pipeline: queues, destinations, and what the senders count. */
export const pipelineAlarms = (
  scope: Construct,
  alarm: MakeAlarm,
  metrics: ServiceMetrics,
  delivery: Delivery,
): void => {
  new ActiveQueue(scope, 'CrashedActive', delivery.crashed);
  alarm('Crashed', {
    ...emptyQueueMetric(delivery.crashed),
    impact: 'SQS took a message from its queue after 100 receives: its alerts are not delivered until it is redriven.',
    firstStep: 'list the messages with the queue that each comes from: npm run ops -- dead-letters list crashed.',
    runbook: 'messages-crashed',
  });
  alarm('AlarmEventsDeadLettered', {
    ...emptyQueueMetric(delivery.alarmEvents.deadLetterQueue),
    impact: 'Alarm events are invalid or too large: nobody is notified of them.',
    firstStep: 'list them with their failureReasons: npm run ops -- dead-letters list alarm-events.',
    runbook: 'alarm-events-are-dead-lettered',
  });
  alarm('ServiceDeadLetters', {
    metric: metrics.allDeliveries('dead_lettered_service'),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'Alerts were dead-lettered through a fault of the service: their destinations did not get them.',
    firstStep: 'list them with their failureReasons: npm run ops -- dead-letters list.',
    runbook: 'dead-letters-of-the-service',
  });
  alarm('NoticesNotQueued', {
    metric: metrics.allDeliveries('notices_not_queued'),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'An alert was dead-lettered, and the notice to the tenant about it could not be sent to its queue.',
    firstStep: 'find the tenant in the log of the sender, and tell it by hand.',
    runbook: 'notices-are-not-queued',
  });
  alarm('EventConflicts', {
    metric: metrics.allDeliveries('conflict'),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'An event id was used again with other content: the later event was not delivered.',
    firstStep: 'find the event id with the message "event conflict" in the log of the sender.',
    runbook: 'event-ids-are-used-twice',
  });
  alarm('UnreadableNotifications', {
    metric: metrics.count('unreadable_notifications', { period: minutes(5) }),
    threshold: 1,
    // Its alerts are tried again every 15 minutes in the end.
    evaluationPeriods: 4,
    datapointsToAlarm: 1,
    impact: 'This version cannot read a stored notification: its alerts wait, and lists leave it out.',
    firstStep: 'find the tenant and the notification with the message "unreadable notification" in the logs.',
    runbook: 'notifications-cannot-be-read',
  });
  const { queue } = delivery.alarmEvents;
  queueAlarms(alarm, 'alarm-events', {
    late: queue.metricApproximateAgeOfOldestMessage(perMinute),
    inFlight: queue.metricApproximateNumberOfMessagesNotVisible(perMinute),
    oldestSeconds: OLD_EVENT_SECONDS,
  });
  for (const line of delivery.lines) {
    queueAlarms(alarm, line.type, {
      late: lateness(line),
      inFlight: mostInFlight(line),
      oldestSeconds: OLD_DELIVERY_SECONDS,
    });
    destinationAlarm(scope, alarm, metrics, line);
  }
};
