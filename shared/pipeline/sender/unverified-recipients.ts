import { lru } from 'tiny-lru';
import type { Recipients } from '../../adapters/accounts/recipients.ts';
import { recipientHashOf, recipientOf } from '../../domain/recipient.ts';
import type { RefusalOf } from './sender-dependencies.ts';

/** The maximum number of verified recipients in the cache of an execution environment. */
const CACHE_SIZE = 10_000;

/** Creates the function that returns which of a tenant's addresses are not verified. What is verified stays so. */
export const createUnverifiedRecipients = (recipients: Pick<Recipients, 'read'>) => {
  const verified = lru<true>(CACHE_SIZE);
  return async (tenant: string, addresses: readonly string[]): Promise<string[]> => {
    const unknown = addresses.filter((address) => !verified.get(recipientHashOf(tenant, address)));
    if (unknown.length === 0) return [];
    const stateOf = await recipients.read(tenant, unknown);
    return unknown.filter((address) => {
      if (stateOf(address) !== 'verified') return true;
      verified.set(recipientHashOf(tenant, address), true);
      return false;
    });
  };
};

/** Returns which of a tenant's addresses are not verified. */
export type UnverifiedRecipients = ReturnType<typeof createUnverifiedRecipients>;

/** Creates the refusal of notifications whose recipients are not verified. */
export const createUnverifiedRefusal =
  (unverified: UnverifiedRecipients): RefusalOf =>
  async (tenant, target) => {
    const recipient = target.needsVerification && recipientOf(target);
    if (!recipient) return undefined;
    return (await unverified(tenant, [recipient.address])).length > 0 ? 'unverified' : undefined;
  };
