import { Duration } from 'aws-cdk-lib';
import { MathExpression, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { ActiveQueue } from './active-queue.ts';
import type { MonitoredResources } from './monitored-resources.ts';
import type { AddAlarm } from './service-alarm.ts';

/** Dispatching an event and delivering an alert normally take less than a second. */
const MAX_EVENT_AGE_SECONDS = 120;
const MAX_AGE_SECONDS = 300;

/**
 * Three of four minutes: SQS reports a minute late, so an expression that fills missing data is 0 for the newest
 * minute, and three of three minutes would never breach.
 */
const THREE_MINUTES = { evaluationPeriods: 4, datapointsToAlarm: 3 };

const perMinute = { period: Duration.minutes(1), statistic: Stats.MAXIMUM };

/**
 * Adds the alarms on queues whose messages wait and on the crashed queue. An alarm has at most ten metrics (AWS limit):
 * the age of the oldest message on the queues of alarm events, of the first attempts of each type, and of email events.
 */
export const queueAlarms = (
  scope: Construct,
  addAlarm: AddAlarm,
  { delivery, emailEvents }: Pick<MonitoredResources, 'delivery' | 'emailEvents'>,
): void => {
  const limits: [id: string, queue: Queue, maxSeconds: number][] = [
    ['events', delivery.alarmEvents.queue, MAX_EVENT_AGE_SECONDS],
    ...delivery.senders.map(({ type, queue }): [string, Queue, number] => [
      type.toLowerCase(),
      queue.queue,
      MAX_AGE_SECONDS,
    ]),
    ['emailevents', emailEvents.queue.queue, MAX_AGE_SECONDS],
  ];
  addAlarm('QueueAge', {
    metric: new MathExpression({
      // SQS reports no metrics for an inactive queue, so missing data counts as 0.
      expression: `MAX([${limits.map(([id, , maxSeconds]) => `FILL(${id}, 0) / ${maxSeconds}`).join(', ')}])`,
      usingMetrics: Object.fromEntries(
        limits.map(([id, queue]) => [id, queue.metricApproximateAgeOfOldestMessage(perMinute)]),
      ),
      period: Duration.minutes(1),
      label: 'age of the oldest message, as a multiple of the maximum of its queue',
    }),
    threshold: 1,
    ...THREE_MINUTES,
    impact: `Alerts are late: a message has waited ${MAX_EVENT_AGE_SECONDS / 60} minutes (alarm events) or ${MAX_AGE_SECONDS / 60} minutes (a type, or email events).`,
    firstStep:
      'find the queue on the dashboard, and check whether its function fails, is throttled, is too slow, or does not receive messages.',
    runbook: 'messages-wait-too-long',
  });
  new ActiveQueue(scope, 'CrashedQueueActive', delivery.crashedQueue);
  addAlarm('CrashedMessages', {
    metric: delivery.crashedQueue.metricApproximateNumberOfMessagesVisible(perMinute),
    threshold: 1,
    evaluationPeriods: 1,
    // Keeps the state: SQS stops reporting metrics for an inactive queue.
    treatMissingData: TreatMissingData.IGNORE,
    impact:
      'SQS moved a message to the crashed queue after 100 receives. Its alerts are not delivered until it is redriven.',
    firstStep: 'list the messages with their source queues: npm run ops -- dead-letters list crashed.',
    runbook: 'messages-crashed',
  });
};
