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

/** Returns the environment variable with the table of recipients, which is absent if the setting is off. */
export const recipientsOf = (
  { verifyRecipients }: Verifying,
  { table }: Accounts,
): ResourceAccess<{ RECIPIENTS_TABLE: string | undefined }> =>
  new ResourceAccess({ RECIPIENTS_TABLE: verifyRecipients ? table.tableName : undefined });
