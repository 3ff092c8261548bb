import type { SQSRecord } from 'aws-lambda';
import { tally } from '../../adapters/metrics.ts';
import { lockWaitCount, MAX_DELAY_SECONDS } from '../../adapters/queues.ts';
import type { DeliveryResult } from '../../domain/attempt-outcome.ts';
import {
  DELIVERY_LATENCY,
  type DeliveryTotal,
  deliveryCounts,
  deliveryTotal,
  ENDPOINT_FAILURE_EXCESS,
  endpointFailureExcess,
  FAILURE_EXCESS,
  FIRST_ATTEMPT_LATENCY,
  failureExcess,
  PRODUCER_ERRORS,
  PRODUCER_FAULTS,
} from '../../domain/delivery-metrics.ts';
import type { HandledBatch } from '../batch-consumer.ts';
import { type DeliveryJob, firstReceivedAtMs, isNotice, isRetry, type QueueUrls, sentAtMs } from './delivery-job.ts';

/** Without a job if it is malformed. `endedAtMs`: the rest of the batch may take longer. */
export type ProcessedMessage = { message: SQSRecord; job?: DeliveryJob; result: DeliveryResult; endedAtMs: number };

/** Returns the result of a batch: which messages return to their queue, and the metrics. Heartbeats emit none. */
export const resultOfBatch = (all: readonly ProcessedMessage[], urls: QueueUrls): HandledBatch => {
  const processed = all.filter(({ result }) => result.kind !== 'heartbeat');
  const { delivered: _, ...outcomes } = tally(processed.map(({ result }) => result.kind));
  return {
    handled: processed.map(({ message, result }) => ({
      message,
      ...result,
      // A retry is delayed intentionally.
      waitsSinceMs: isRetry(message, urls) ? firstReceivedAtMs(message) : sentAtMs(message),
    })),
    counts: { [PRODUCER_FAULTS]: outcomes.conflict ?? 0 },
    metrics: {
      ...outcomes,
      ...tally(processed.flatMap(({ result }) => deliveryCounts(result))),
      ...tally(processed.flatMap(totalOf)),
      [PRODUCER_ERRORS]: outcomes.conflict ?? 0,
      failures_unseen: processed.filter(isRecordedFailure).length,
    },
    values: {
      [ENDPOINT_FAILURE_EXCESS]: processed.flatMap(({ result }) => endpointFailureExcess(result)),
      [FAILURE_EXCESS]: processed.flatMap(({ result }) => failureExcess(result, urls.type)),
      [DELIVERY_LATENCY]: processed.flatMap(latencyMs),
      [FIRST_ATTEMPT_LATENCY]: processed.flatMap((each) => firstAttemptLatencyMs(each, urls)),
    },
    lateSeconds: lateRetrySeconds(
      processed.map(({ message }) => message),
      urls,
    ),
  };
};

/** Returns whether a message leaves a failure in a record, which the watcher of the stream counts, too. */
const isRecordedFailure = ({ job, result: { kind } }: ProcessedMessage): boolean =>
  job !== undefined && !isNotice(job.body) && (kind === 'retried' || kind === 'dead_lettered');

const totalOf = ({ job, result }: ProcessedMessage): DeliveryTotal[] => {
  const total = job?.body.notice ? undefined : deliveryTotal(result);
  return total ? [total] : [];
};

/** Of delivered alerts, without notices. */
const latencyMs = (processed: ProcessedMessage): number[] => {
  const { job, endedAtMs } = processed;
  const isDelivered = totalOf(processed).includes('deliveries_delivered');
  return job && isDelivered ? [Math.max(0, endedAtMs - job.body.accepted_at_ms)] : [];
};

/** None for later attempts and for notices, and none if a circuit, a daily limit, a move or a lock postponed it. */
const firstAttemptLatencyMs = ({ job, message, result }: ProcessedMessage, urls: QueueUrls): number[] => {
  const { firstAttemptAtMs } = result;
  const isPostponed = isRetry(message, urls) || lockWaitCount(message) > 0;
  if (!job || firstAttemptAtMs === undefined || job.body.notice || isPostponed) return [];
  return [Math.max(0, firstAttemptAtMs - job.body.accepted_at_ms)];
};

const LATE_SECONDS = 300;

/**
 * By how much the latest retry was received too late. 0 unless those of two tenants are 5 minutes late: a backlog of
 * one delays only its own, because the queue is fair.
 */
export const lateRetrySeconds = (messages: readonly SQSRecord[], urls: QueueUrls): number => {
  const late = messages
    .filter((message) => isRetry(message, urls))
    .map((message) => ({
      tenant: message.attributes.MessageGroupId,
      seconds: Math.round((firstReceivedAtMs(message) - sentAtMs(message)) / 1000) - MAX_DELAY_SECONDS,
    }))
    .filter(({ seconds }) => seconds >= LATE_SECONDS);
  const tenants = new Set(late.map(({ tenant }) => tenant));
  return tenants.size < 2 ? 0 : Math.max(...late.map(({ seconds }) => seconds));
};
