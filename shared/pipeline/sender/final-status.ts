import { notificationTypes } from '../../contracts/notification-types.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import type { DeliveryJob } from './delivery-job.ts';

/**
 * Records that a delivery ended. Types that can bounce write it conditionally: the write keeps the bounces, and a copy
 * that the SDK sends late cannot undo `bounced`. The caller must then call `settleBounce`.
 *
 * @param held the claimed record
 * @returns the record as stored
 */
export const recordFinalStatus = async (
  { dependencies, batch }: DeliveryJob,
  held: DeliveryRecord,
  ended: DeliveryRecord,
): Promise<DeliveryRecord> => {
  const { type, deliveries } = dependencies;
  if (notificationTypes[type].canBounce) return (await deliveries.update(held, ended)) ?? ended;
  await deliveries.complete(ended, { awaited: () => batch.unsettled });
  return ended;
};
