import type { Claim, DeliveryRecord } from '../../domain/delivery-record.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** Creates the writes of one delivery's record. They remember what they wrote, so that a failure is reported from it. */
export const createDeliveryWrites = ({ deliveries, clock }: Pick<SenderDependencies, 'deliveries' | 'clock'>) => {
  let claimed: DeliveryRecord | undefined;
  let written: DeliveryRecord | undefined;
  const remember = (record: DeliveryRecord): DeliveryRecord => {
    written = record;
    return record;
  };

  return {
    /** Claims the delivery for one attempt. */
    async claim(first: DeliveryRecord): Promise<Claim> {
      const claim = await deliveries.claim(first, clock());
      claimed = claim.kind === 'claimed' ? claim.record : undefined;
      written = claim.kind === 'ended' || claim.kind === 'not_due' ? claim.record : undefined;
      return claim;
    },

    /** Changes a claimed record if the claim still holds. @returns the record as stored, or `next` if it is lost */
    update: async (held: DeliveryRecord, next: DeliveryRecord): Promise<DeliveryRecord> =>
      remember((await deliveries.update(held, next)) ?? next),

    /** Sets the status to `bounced` if every recipient that accepted has bounced. @returns the record as stored */
    settleBounce: async (stored: DeliveryRecord): Promise<DeliveryRecord> =>
      remember(await deliveries.settleBounce(stored, clock())),

    /**
     * Returns the claimed record, if this job claimed it, and the record as last written; without a claim, the record
     * that was found.
     */
    result: (): { claimed: DeliveryRecord | undefined; written: DeliveryRecord | undefined } => ({ claimed, written }),
  };
};

/** Writes the record of one delivery. */
export type DeliveryWrites = ReturnType<typeof createDeliveryWrites>;
