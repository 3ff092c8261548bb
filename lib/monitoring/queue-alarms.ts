import { Duration } from 'aws-cdk-lib';
import { MathExpression, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { inBatches } from '../../shared/domain/in-batches.ts';
import { ActiveQueue } from './active-queue.ts';
import type { MonitoredResources } from './monitored-resources.ts';
import { opsCommand } from './ops-command.ts';
import { type AddAlarm, MAX_ALARM_METRICS } from './service-alarm.ts';

/** Dispatching an event and delivering an alert normally take less than a second. */
const MAX_EVENT_AGE_SECONDS = 120;
const MAX_AGE_SECONDS = 300;

/**
 * Three of four minutes: SQS reports a minute late, so an expression that fills missing data is 0 for the newest
 * minute, and three of three minutes would never breach.
 */
const THREE_MINUTES = { evaluationPeriods: 4, datapointsToAlarm: 3 };

const perMinute = { period: Duration.minutes(1), statistic: Stats.MAXIMUM };

type WatchedQueue = { id: string; queue: Queue; maxSeconds: number };

/** Returns the age of the oldest message on any of the queues, as a multiple of the maximum of its queue. */
const relativeAge = (queues: readonly WatchedQueue[]): MathExpression =>
  new MathExpression({
    // SQS reports no metrics for an inactive queue, so missing data counts as 0.
    expression: `MAX([${queues.map(({ id, maxSeconds }) => `FILL(${id}, 0) / ${maxSeconds}`).join(', ')}])`,
    usingMetrics: Object.fromEntries(
      queues.map(({ id, queue }) => [id, queue.metricApproximateAgeOfOldestMessage(perMinute)]),
    ),
    period: Duration.minutes(1),
    label: 'age of the oldest message, as a multiple of the maximum of its queue',
  });

/**
 * Adds the alarms on queues whose messages wait and on the crashed queue. The age of the oldest message on the queues
 * of alarm events, of email events and of the first attempts of each type needs an alarm for every ten queues.
 */
export const queueAlarms = (
  scope: Construct,
  addAlarm: AddAlarm,
  { delivery, emailEvents }: Pick<MonitoredResources, 'delivery' | 'emailEvents'>,
): void => {
  const queues: WatchedQueue[] = [
    { id: 'events', queue: delivery.alarmEvents.queue, maxSeconds: MAX_EVENT_AGE_SECONDS },
    { id: 'emailevents', queue: emailEvents.queue.queue, maxSeconds: MAX_AGE_SECONDS },
    ...delivery.senders.map(({ type, queue: { queue } }) => ({
      id: type.toLowerCase(),
      queue,
      maxSeconds: MAX_AGE_SECONDS,
    })),
  ];
  for (const [index, group] of inBatches(queues, MAX_ALARM_METRICS).entries()) {
    addAlarm(index === 0 ? 'QueueAge' : `QueueAge${index + 1}`, {
      metric: relativeAge(group),
      threshold: 1,
      ...THREE_MINUTES,
      impact: `Alerts are late: a message has waited ${MAX_EVENT_AGE_SECONDS / 60} minutes (alarm events) or ${MAX_AGE_SECONDS / 60} minutes (a type, or email events).`,
      firstStep:
        'find the queue on the dashboard, and check whether its function fails, is throttled, is too slow, or does not receive messages.',
      runbook: 'messages-wait-too-long',
    });
  }
  new ActiveQueue(scope, 'CrashedQueueActive', delivery.crashedQueue);
  addAlarm('CrashedMessages', {
    metric: delivery.crashedQueue.metricApproximateNumberOfMessagesVisible(perMinute),
    threshold: 1,
    evaluationPeriods: 1,
    // Keeps the state: SQS stops reporting metrics for an inactive queue.
    treatMissingData: TreatMissingData.IGNORE,
    impact:
      'SQS moved a message to the crashed queue after 100 receives. Its alerts are not delivered until it is redriven.',
    firstStep: `list the messages with their source queues: ${opsCommand(scope, 'dead-letters list crashed')}.`,
    runbook: 'messages-crashed',
  });
};
