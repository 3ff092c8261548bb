import { errorTrace, logger } from '../../adapters/logger.ts';
import { deliveryKey } from '../../domain/delivery-key.ts';
import type { DeliveryJob } from './delivery-job.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** Jobs whose messages arrived before their next attempt was due. */
export type EarlyJobs = { due: DeliveryJob[]; notDue: DeliveryJob[] };

/**
 * Creates the function that finds the deliveries that became due while their message was delayed, because a tenant
 * requested a retry (docs/decisions/deliveries.md#retry-now). Never rejects: if records cannot be read, the deliveries
 * are not due, and their messages are sent again.
 */
export const createEarlyMessageCheck =
  ({ type, deliveries, clock }: Pick<SenderDependencies, 'type' | 'deliveries' | 'clock'>) =>
  async (jobs: readonly DeliveryJob[]): Promise<EarlyJobs> => {
    const keyOf = ({ body }: DeliveryJob) => deliveryKey(body.event, body.notification_id);
    const isDue = deliveries.readDue(jobs.map(keyOf), clock());
    const results = await Promise.allSettled(jobs.map((job) => isDue(keyOf(job))));
    const [error] = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (error !== undefined) logger.warn('records of early messages not read', { type, ...errorTrace(error) });
    const isDueJob = (_: DeliveryJob, index: number): boolean => {
      const result = results[index];
      return result?.status === 'fulfilled' && result.value;
    };
    return { due: jobs.filter(isDueJob), notDue: jobs.filter((job, index) => !isDueJob(job, index)) };
  };
