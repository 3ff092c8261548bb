import { errorTrace, logger } from '../../adapters/logger.ts';
import { lockWaitCount } from '../../adapters/queues.ts';
import { messageBody, roundOf } from '../../contracts/messages.ts';
import type { DeliveryResult } from '../../domain/attempt-outcome.ts';
import { deliveryKey } from '../../domain/delivery-key.ts';
import { bodyForRound } from '../../domain/delivery-message.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { type DeliveryJob, isRetry, type SenderDependencies } from './delivery-job.ts';

type CopyChanges = {
  /** The URL of the queue that gets the copy: by default the retry queue. */
  url?: string;
  /** The record whose round and reached recipients the copy names. */
  record?: DeliveryRecord;
  lockWaits?: number;
};

/** Sends a copy of a message, visible after `waitMs`, before it is acknowledged. */
export const sendCopy = async (
  { queues, retryQueueUrl }: Pick<SenderDependencies, 'queues' | 'retryQueueUrl'>,
  { message, body }: DeliveryJob,
  waitMs: number,
  { url = retryQueueUrl, record, lockWaits = lockWaitCount(message) }: CopyChanges = {},
): Promise<void> => {
  const isChanged = record && (roundOf(body) !== record.round || record.reached_recipient_hashes?.length);
  const copy = {
    body: isChanged ? bodyForRound(body, record) : messageBody(message.body),
    messageGroupId: body.event.tenant_id,
    lockWaitCount: lockWaits,
  };
  await queues.sendDelayed(url, copy, waitMs);
};

/** The jobs that a tenant made due (docs/decisions/deliveries.md#retry-now). Never rejects. */
export const findDue = async (
  { type, deliveries, clock }: Pick<SenderDependencies, 'type' | 'deliveries' | 'clock'>,
  jobs: readonly DeliveryJob[],
): Promise<DeliveryJob[]> => {
  const keyOf = ({ body }: DeliveryJob) => deliveryKey(body.event, body.notification_id);
  const isDue = deliveries.readDue(jobs.map(keyOf), clock());
  const results = await Promise.allSettled(jobs.map((job) => isDue(keyOf(job))));
  const [error] = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (error !== undefined) logger.warn('records of early messages not read', { type, ...errorTrace(error) });
  return jobs.filter((_, index) => {
    const result = results[index];
    return result?.status === 'fulfilled' && result.value;
  });
};

/**
 * Moves first attempts of slow tenants to the retry queue, before they are claimed, so that they leave no record
 * (docs/decisions/deliveries.md#slow-tenants). None is moved twice. The results reject if SQS refuses the message.
 */
export const moveFirstAttempts = (
  dependencies: Pick<SenderDependencies, 'type' | 'queues' | 'queueUrls' | 'retryQueueUrl'>,
  isSlow: (tenant: string) => boolean,
  jobs: readonly DeliveryJob[],
): Map<DeliveryJob, Promise<DeliveryResult>> => {
  const { type, queues, retryQueueUrl } = dependencies;
  const tenantOf = ({ body }: DeliveryJob): string => body.event.tenant_id;
  const slow = new Set([...new Set(jobs.map(tenantOf))].filter(isSlow));
  const isMoved = (job: DeliveryJob): boolean => slow.has(tenantOf(job)) && !isRetry(job.message, dependencies);
  const moved = jobs.filter(isMoved);
  for (const [tenant_id, { length }] of Map.groupBy(moved, tenantOf)) {
    logger.warn('first attempts moved', { type, tenant_id, messages: length });
  }
  const copies = moved.map((job) => ({
    job,
    body: () => messageBody(job.message.body),
    bytes: Buffer.byteLength(job.message.body),
    messageGroupId: tenantOf(job),
  }));
  const sent = queues.sendAll(retryQueueUrl, copies);
  const resultOf = async (job: DeliveryJob): Promise<DeliveryResult> => {
    if ((await sent).some((unsent) => unsent.job === job)) throw new Error('The message could not be moved.');
    return { kind: 'moved' };
  };
  return new Map(moved.map((job) => [job, resultOf(job)]));
};
