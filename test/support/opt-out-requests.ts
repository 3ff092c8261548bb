import { createOptOutKeys } from '../../shared/adapters/accounts/opt-out-keys.ts';
import { optOutUrl, type Recipient } from '../../shared/domain/email-stop.ts';
import { buttonFields } from '../../shared/pipeline/opt-out.ts';
import type { FaultyStack } from '../faults/support.ts';

/** Sends what a button of the page sends. */
const press = async (world: FaultyStack, button: keyof typeof buttonFields, recipient: Recipient): Promise<void> => {
  const key = await createOptOutKeys(world.documents, world.table('Accounts')).current();
  const { name, value } = buttonFields[button];
  await world.call('POST', optOutUrl('', key, recipient), { body: `${name}=${value}` });
};

/** Stops the emails of a tenant to an address. */
export const optOut = (world: FaultyStack, recipient: Recipient): Promise<void> => press(world, 'stop', recipient);

/** Resumes them. */
export const undoOptOut = (world: FaultyStack, recipient: Recipient): Promise<void> =>
  press(world, 'resume', recipient);
