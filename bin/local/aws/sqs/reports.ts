import type { MoveTask } from './move-task.ts';
import type { Queue } from './queue.ts';

/** The attributes of a queue, as `GetQueueAttributes` names them; all values are text. */
export function queueAttributes({ settings, counts, redrive, createdAt }: Queue): Record<string, string> {
  const created = String(Math.floor(createdAt / 1000));
  const redrivePolicy = redrive && {
    RedrivePolicy: JSON.stringify({
      deadLetterTargetArn: redrive.target.settings.arn,
      maxReceiveCount: redrive.maximumReceives,
    }),
  };
  return {
    QueueArn: settings.arn,
    ApproximateNumberOfMessages: String(counts.visible),
    ApproximateNumberOfMessagesNotVisible: String(counts.inFlight),
    ApproximateNumberOfMessagesDelayed: String(counts.delayed),
    CreatedTimestamp: created,
    LastModifiedTimestamp: created,
    VisibilityTimeout: String(settings.visibilitySeconds),
    DelaySeconds: String(settings.delaySeconds),
    MessageRetentionPeriod: String(settings.retentionSeconds),
    MaximumMessageSize: String(settings.maximumBytes),
    ReceiveMessageWaitTimeSeconds: String(settings.waitSeconds),
    SqsManagedSseEnabled: 'true',
    ...redrivePolicy,
  };
}

/** A move task, as `ListMessageMoveTasks` reports it. */
export function taskReport(task: MoveTask): object {
  return {
    ...(task.status === 'RUNNING' ? { TaskHandle: task.handle } : {}),
    Status: task.status,
    SourceArn: task.source.settings.arn,
    ...(task.destination ? { DestinationArn: task.destination.settings.arn } : {}),
    MaxNumberOfMessagesPerSecond: task.perSecond,
    ApproximateNumberOfMessagesMoved: task.moved,
    ApproximateNumberOfMessagesToMove: task.toMove,
    ...(task.failure ? { FailureReason: task.failure } : {}),
    StartedTimestamp: task.startedAt,
  };
}
