import { logger } from '../../adapters/logger.ts';
import { messageBody } from '../../contracts/text.ts';
import type { DeliveryJob } from './delivery-job.ts';
import { queueUrlOf } from './received-message.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The jobs whose messages are moved, and the others, in their order. `unsent` resolves to those that were not sent. */
type MovedJobs = { moved: DeliveryJob[]; unsent: Promise<ReadonlySet<DeliveryJob>>; others: DeliveryJob[] };

/**
 * Creates the function that moves first attempts of slow tenants to the retry queue, before they are claimed, so that
 * they leave no record and count as no attempt (docs/decisions/deliveries.md#slow-tenants). A message on the retry queue
 * is attempted, so none is moved twice.
 */
export const createFirstAttemptMove = (
  dependencies: Pick<SenderDependencies, 'type' | 'queues' | 'queueUrls' | 'retryQueueUrl' | 'isSlowTenant'>,
) => {
  const { type, queues, retryQueueUrl, isSlowTenant } = dependencies;
  const tenantOf = ({ body }: DeliveryJob): string => body.event.tenant_id;

  return (jobs: readonly DeliveryJob[]): MovedJobs => {
    const slow = new Set([...new Set(jobs.map(tenantOf))].filter(isSlowTenant));
    const isMoved = (job: DeliveryJob): boolean =>
      slow.has(tenantOf(job)) && queueUrlOf(job.message, dependencies) !== retryQueueUrl;
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
    const sendAll = async () => new Set((await queues.sendAll(retryQueueUrl, copies)).map(({ job }) => job));
    return { moved, unsent: sendAll(), others: jobs.filter((job) => !isMoved(job)) };
  };
};
