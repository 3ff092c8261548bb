import type { QueuedMessage } from './queued-message.ts';

/** What a queue has counted since it was created, as the sums of the CloudWatch metrics count it. */
export interface QueueTotals {
  /** `NumberOfMessagesSent`: not what SQS moves to a dead-letter queue by a redrive policy. */
  sent: number;
  /** `NumberOfMessagesReceived`. */
  received: number;
  /** `NumberOfMessagesDeleted`: every deletion with a valid handle, repeated ones included. */
  deleted: number;
  /** `NumberOfEmptyReceives`. */
  emptyReceives: number;
}

/** From this receive on, CloudWatch leaves a message of a standard queue out of the age of the oldest. */
const receivesOfPoisonPill = 3;

/**
 * `ApproximateAgeOfOldestMessage` of a standard queue in seconds, or undefined where CloudWatch reports nothing: messages
 * received three times or more are left out, and on a dead-letter queue the age starts when the message was moved there.
 * AWS does not say whether delayed messages count; here they do, so alarms have to allow for delays.
 */
export function ageOfOldestMessageSeconds(messages: Iterable<QueuedMessage>, nowMs: number): number | undefined {
  let oldest: number | undefined;
  for (const { arrivedAt, receives, receivesAtArrival } of messages) {
    if (receives - receivesAtArrival >= receivesOfPoisonPill) continue;
    if (oldest === undefined || arrivedAt < oldest) oldest = arrivedAt;
  }
  return oldest === undefined ? undefined : Math.floor((nowMs - oldest) / 1000);
}
