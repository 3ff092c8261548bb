import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { Delivery, Sender } from '../delivery.ts';
import { ActiveQueue } from './active-queue.ts';
import { FailingTenants } from './failing-tenants.ts';
import type { AddAlarm } from './service-alarm.ts';
import type { ServiceMetrics } from './service-metrics.ts';

const minutes = Duration.minutes;

/** Half of the SQS quota of 120,000 in-flight messages per queue. */
const MAX_IN_FLIGHT = 60_000;

/** Dispatching an event and delivering an alert normally take less than a second. */
const MAX_EVENT_AGE_SECONDS = 120;
const MAX_DELIVERY_AGE_SECONDS = 300;

/** The maximum message delay of SQS, which retries use. */
const MAX_RETRY_DELAY_SECONDS = 900;

/**
 * The alarm on destinations needs this percentage of failures, this many attempts, and failures of this many tenants.
 */
const FAILURE_PERCENT = 50;
const MIN_ATTEMPTS = 50;
const MIN_TENANTS = 3;

/**
 * Three of four minutes: SQS reports a minute late, so an expression that fills missing data is 0 for the newest
 * minute, and three of three minutes would never breach.
 */
const THREE_MINUTES = { evaluationPeriods: 4, datapointsToAlarm: 3 };

const perMinute = { period: minutes(1), statistic: Stats.MAXIMUM };

/** Adds the alarms on the age and the number of in-flight messages of a queue. */
const addQueueAlarms = (
  addAlarm: AddAlarm,
  name: string,
  { age, inFlight, maxAgeSeconds }: { age: IMetric; inFlight: IMetric; maxAgeSeconds: number },
) => {
  addAlarm(`QueueAge-${name}`, {
    metric: age,
    threshold: maxAgeSeconds,
    ...THREE_MINUTES,
    impact: `Alerts are late: a message on the queue ${name} is overdue by ${maxAgeSeconds / 60} minutes.`,
    firstStep:
      'check on the dashboard whether its function fails, is throttled, or is too slow for the incoming messages.',
    runbook: 'messages-wait-too-long',
  });
  addAlarm(`InFlight-${name}`, {
    metric: inFlight,
    threshold: MAX_IN_FLIGHT,
    ...THREE_MINUTES,
    impact: `The queue ${name} has 60,000 messages in flight. At 120,000 SQS returns no more messages.`,
    firstStep: 'find in the log of its function why it returns so many messages to the queue.',
    runbook: 'too-many-messages-in-flight',
  });
};

/**
 * Returns the maximum over the two queues of a type. SQS reports no metrics for an inactive queue, so missing data
 * counts as 0.
 */
const maxOfQueues = (expression: string, first: IMetric, retries: IMetric, label: string): IMetric =>
  new MathExpression({ expression, usingMetrics: { first, retries }, period: minutes(1), label });

/** Returns the time by which the oldest message of a type is overdue, in seconds. */
const overdueSeconds = ({ type, queue: { queue, retries } }: Sender): IMetric => {
  const age = (queue: Queue) => queue.metricApproximateAgeOfOldestMessage(perMinute);
  const expression = `MAX([FILL(first, 0), FILL(retries, 0) - ${MAX_RETRY_DELAY_SECONDS}])`;
  return maxOfQueues(expression, age(queue), age(retries), `oldest message of ${type}, overdue by s`);
};

/** Returns the number of in-flight messages of a type, on the queue with more of them. */
const maxInFlight = ({ type, queue: { queue, retries } }: Sender): IMetric => {
  const inFlight = (queue: Queue) => queue.metricApproximateNumberOfMessagesNotVisible(perMinute);
  const expression = 'MAX([FILL(first, 0), FILL(retries, 0)])';
  return maxOfQueues(expression, inFlight(queue), inFlight(retries), `messages of ${type} in flight`);
};

/**
 * Adds the alarm on failing destinations of a type. One tenant alone never triggers it: the alarm excludes the failures
 * of the tenant with the most, and requires failures of at least three tenants.
 */
const addDestinationAlarm = (
  scope: Construct,
  addAlarm: AddAlarm,
  metrics: ServiceMetrics,
  { type, lambda }: Sender,
) => {
  const period = minutes(15);
  const failing = new FailingTenants(scope, `FailingTenants-${type}`, lambda);
  addAlarm(`DestinationFailures-${type}`, {
    metric: new MathExpression({
      expression: `IF(tenants >= ${MIN_TENANTS} AND attempts - excluded >= ${MIN_ATTEMPTS}, 100 * (failures - excluded) / (attempts - excluded), 0)`,
      usingMetrics: {
        tenants: failing.tenantCount(period),
        excluded: failing.maxFailuresPerTenant(period),
        attempts: metrics.deliveries('destination_attempts', type, { period }),
        failures: metrics.deliveries('destination_failures', type, { period }),
      },
      period,
      label: `failed attempts by ${type} without the tenant with the most failures, %`,
    }),
    threshold: FAILURE_PERCENT,
    evaluationPeriods: 2,
    impact: `Most alerts by ${type} to destinations of several tenants fail. The service retries them for about 8 hours.`,
    firstStep: 'check by status and reason in the log of the sender whether the network or the destinations fail.',
    runbook: 'destinations-of-many-tenants-fail',
  });
};

/**
 * Fires on a single message. Missing data keeps the state, because SQS stops reporting metrics for an inactive queue.
 */
const anyMessage = (queue: Queue) => ({
  metric: queue.metricApproximateNumberOfMessagesVisible(perMinute),
  threshold: 1,
  evaluationPeriods: 1,
  treatMissingData: TreatMissingData.IGNORE,
});

/** Adds the alarms on queues, dead letters, destinations and the counts of the senders. */
export const pipelineAlarms = (
  scope: Construct,
  addAlarm: AddAlarm,
  metrics: ServiceMetrics,
  delivery: Delivery,
): void => {
  new ActiveQueue(scope, 'CrashedQueueActive', delivery.crashedQueue);
  addAlarm('CrashedMessages', {
    ...anyMessage(delivery.crashedQueue),
    impact:
      'SQS moved a message to the crashed queue after 100 receives. Its alerts are not delivered until it is redriven.',
    firstStep: 'list the messages with their source queues: npm run ops -- dead-letters list crashed.',
    runbook: 'messages-crashed',
  });
  addAlarm('AlarmEventsDeadLettered', {
    ...anyMessage(delivery.alarmEvents.deadLetterQueue),
    impact: 'Alarm events are invalid or too large. No notifications are sent for them.',
    firstStep: 'list them with their reasons: npm run ops -- dead-letters list alarm-events.',
    runbook: 'alarm-events-are-dead-lettered',
  });
  addAlarm('ServiceDeadLetters', {
    metric: metrics.allDeliveries('dead_lettered_service'),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'Alerts were dead-lettered because of a failure in the service. They did not reach their destinations.',
    firstStep: 'list them with their reasons: npm run ops -- dead-letters list.',
    runbook: 'dead-letters-of-the-service',
  });
  addAlarm('NoticesNotQueued', {
    metric: metrics.count('notices_not_queued', { period: minutes(5) }),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'An alert failed, and the notice to the technical contacts or operators could not be queued.',
    firstStep:
      'find the tenant and the event in the logs (message "notice not queued"), and notify the tenant manually.',
    runbook: 'notices-are-not-queued',
  });
  addAlarm('EventConflicts', {
    metric: metrics.allDeliveries('conflict'),
    threshold: 1,
    evaluationPeriods: 1,
    impact: 'A producer reused an event ID with different content. The later event was not delivered.',
    firstStep: 'find the event ID in the log of the sender (message "event conflict").',
    runbook: 'event-ids-are-used-twice',
  });
  addAlarm('UnreadableNotifications', {
    metric: metrics.count('unreadable_notifications', { period: minutes(5) }),
    threshold: 1,
    // A failing message is received at least every 15 minutes.
    evaluationPeriods: 4,
    datapointsToAlarm: 1,
    impact: 'The service cannot read a stored notification. Its alerts wait, and lists omit it.',
    firstStep: 'find the tenant and the notification in the logs (message "unreadable notification").',
    runbook: 'notifications-cannot-be-read',
  });
  const { queue } = delivery.alarmEvents;
  addQueueAlarms(addAlarm, 'alarm-events', {
    age: queue.metricApproximateAgeOfOldestMessage(perMinute),
    inFlight: queue.metricApproximateNumberOfMessagesNotVisible(perMinute),
    maxAgeSeconds: MAX_EVENT_AGE_SECONDS,
  });
  for (const sender of delivery.senders) {
    addQueueAlarms(addAlarm, sender.type, {
      age: overdueSeconds(sender),
      inFlight: maxInFlight(sender),
      maxAgeSeconds: MAX_DELIVERY_AGE_SECONDS,
    });
    addDestinationAlarm(scope, addAlarm, metrics, sender);
  }
};
