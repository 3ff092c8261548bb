import { createOptOutKeys } from '../../shared/adapters/accounts/opt-out-keys.ts';
import { type OptOutPurpose, optOutUrl, type Recipient } from '../../shared/domain/opt-out.ts';
import { confirmations } from '../../shared/pipeline/opt-out/page.ts';
import type { FaultyStack } from '../faults/support.ts';

/** Sends what the button of the page sends. */
const confirm = async (world: FaultyStack, purpose: OptOutPurpose, recipient: Recipient): Promise<void> => {
  const key = await createOptOutKeys(world.documents, world.table('Accounts')).current();
  const { name, value } = confirmations[purpose];
  await world.call('POST', optOutUrl('', key, purpose, recipient), { body: `${name}=${value}` });
};

/** Stops the emails of a tenant to an address. */
export const optOut = (world: FaultyStack, recipient: Recipient): Promise<void> => confirm(world, 'opt-out', recipient);

/** Undoes an opt-out. */
export const undoOptOut = (world: FaultyStack, recipient: Recipient): Promise<void> =>
  confirm(world, 'undo', recipient);
