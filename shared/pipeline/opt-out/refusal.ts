import type { OptOuts } from '../../adapters/accounts/opt-outs.ts';
import type { RefusalOf } from '../sender/sender-dependencies.ts';

/**
 * Creates the refusal of `email` notifications whose recipient has opted out. It reads for each email, strongly
 * consistent, because an opt-out holds at once.
 */
export const createOptOutRefusal =
  (optOuts: Pick<OptOuts, 'remaining'>): RefusalOf =>
  async (tenant, { details: { address = '' } }) =>
    (await optOuts.remaining(tenant, [address])).length === 0 ? 'opted_out' : undefined;
