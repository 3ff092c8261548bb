import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { accountKey } from '../../shared/adapters/accounts/account-repository.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { OperationError } from './errors.ts';
import type { Session } from './session.ts';
import { targetsOf } from './targets.ts';

const isKnown = async (session: Session, tenant: string): Promise<boolean> => {
  const { documents, deployment, tokens } = session;
  if ((await tokens.list(tenant)).length > 0 || (await tokens.lastRevokedAtMs(tenant)) > 0) return true;
  const TableName = deployment.outputs.AccountsTable;
  const { Item } = await documents.send(new GetCommand({ TableName, Key: accountKey(tenant), ConsistentRead: true }));
  if (Item) return true;
  for await (const { id } of targetsOf(session, tenant)) return id !== DEFAULT_NOTIFICATION_ID;
  return false;
};

/**
 * Rejects a tenant that has or had neither tokens, an account nor notifications: its name may be misspelled.
 *
 * @param isNew whether the operator says that it is new (`--new`); undefined if the command has no such option
 * @throws OperationError
 */
export const assertKnown = async (session: Session, tenant: string, isNew?: boolean): Promise<void> => {
  if (isNew || (await isKnown(session, tenant))) return;
  const next = isNew === undefined ? '' : ', or pass --new';
  throw new OperationError(`Tenant ${tenant} does not exist: check its name, as "tenants" lists it${next}.`);
};
