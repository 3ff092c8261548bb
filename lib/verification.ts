import { ResourceAccess } from './resource-access.ts';
import type { Settings } from './settings.ts';
import type { Storage } from './storage.ts';

type Accounts = Pick<Storage, 'accounts'>['accounts'];
type Verifying = Pick<Settings, 'verifyRecipients'>;

/** Returns an access without its permissions if the setting `verifyRecipients` is off. */
export const ifVerifying = <Environment>(
  { verifyRecipients }: Verifying,
  { environment, statements }: ResourceAccess<Environment>,
): ResourceAccess<Environment> => new ResourceAccess(environment, ...(verifyRecipients ? statements : []));

/** Returns the access to the table of recipients: none if the setting is off. */
export const recipientAccess = (
  settings: Verifying,
  accounts: Accounts,
  ...actions: Parameters<Accounts['access']>
): ResourceAccess<{ RECIPIENTS_TABLE: string | undefined }> =>
  ifVerifying(
    settings,
    new ResourceAccess(
      { RECIPIENTS_TABLE: settings.verifyRecipients ? accounts.table.tableName : undefined },
      ...(actions.length > 0 ? accounts.access(...actions).statements : []),
    ),
  );
