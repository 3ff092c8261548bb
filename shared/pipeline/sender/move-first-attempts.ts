import { logger } from '../../adapters/logger.ts';
import { lockWaitCount } from '../../adapters/queues.ts';
import type { DeliveryJob, SettledJob } from './delivery-job.ts';
import { queueUrlOf } from './read-message.ts';
import type { Requeue } from './requeue.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The jobs whose messages are being moved, and the others, in their order. */
type MovedJobs = { moved: Promise<SettledJob[]>; others: DeliveryJob[] };

/**
 * Creates the function that moves first attempts of slow tenants to the retry queue, before they are claimed, so that
 * they leave no record and count as no attempt (docs/decisions/deliveries.md#slow-tenants). A message on the retry queue
 * is attempted, so none is moved twice.
 */
export const createFirstAttemptMove = (
  dependencies: Pick<SenderDependencies, 'type' | 'queueUrls' | 'retryQueueUrl' | 'isSlowTenant'>,
  { sendCopies, settledCopies }: Pick<Requeue, 'sendCopies' | 'settledCopies'>,
) => {
  const { type, retryQueueUrl, isSlowTenant } = dependencies;
  const tenantOf = ({ body }: DeliveryJob): string => body.event.tenant_id;

  return (jobs: readonly DeliveryJob[]): MovedJobs => {
    const slow = new Set([...new Set(jobs.map(tenantOf))].filter(isSlowTenant));
    const isMoved = (job: DeliveryJob): boolean =>
      slow.has(tenantOf(job)) && queueUrlOf(job.message, dependencies) !== retryQueueUrl;
    const toMove = jobs.filter(isMoved);
    for (const [tenant_id, { length }] of Map.groupBy(toMove, tenantOf)) {
      logger.warn('first attempts moved', { type, tenant_id, messages: length });
    }
    const unsent = sendCopies(
      toMove,
      () => retryQueueUrl,
      ({ message }) => ({ waitMs: 0, lockWaitCount: lockWaitCount(message) }),
    );
    return {
      moved: settledCopies(toMove, unsent, 'moved'),
      others: jobs.filter((job) => !isMoved(job)),
    };
  };
};
