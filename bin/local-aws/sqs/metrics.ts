import type { QueuedMessage } from './queued-message.ts';

/** A message that was received this many times no longer counts toward the age of the oldest message. */
const MAX_COUNTED_RECEIVES = 3;

/**
 * Returns `ApproximateAgeOfOldestMessage` of a standard queue in seconds, or undefined if CloudWatch reports no value.
 * On a dead-letter queue, the age starts when SQS moved the message there. AWS does not document whether delayed
 * messages count; here they do, so alarms must allow for delays.
 */
export const ageOfOldestMessageSeconds = (messages: Iterable<QueuedMessage>, nowMs: number): number | undefined => {
  let oldestMs: number | undefined;
  for (const { arrivedAtMs, receiveCount, receiveCountAtArrival } of messages) {
    if (receiveCount - receiveCountAtArrival >= MAX_COUNTED_RECEIVES) continue;
    if (oldestMs === undefined || arrivedAtMs < oldestMs) oldestMs = arrivedAtMs;
  }
  return oldestMs === undefined ? undefined : Math.floor((nowMs - oldestMs) / 1000);
};
