import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { inBatches } from '../../../shared/domain/in-batches.ts';
import { type DeadLetterCounts, visitDeadLettersOf } from '../dead-letter.ts';
import type { Session } from '../session.ts';
import { createPace, realTime, type Timing } from '../table-scan.ts';
import { stopAccess } from './rotation.ts';
import { type ItemKind, itemsOf, type OwnedItem, type TableName, tableNames, tableOf } from './stored-items.ts';

const CONCURRENT_DELETES = 25;

export type Deletion = { items: Partial<Record<ItemKind, number>>; deadLetters: DeadLetterCounts };

const add = ({ items }: Deletion, kind: ItemKind, count = 1): void => {
  items[kind] = (items[kind] ?? 0) + count;
};

const deleteItems = async (
  session: Session,
  items: readonly OwnedItem[],
  pace: ReturnType<typeof createPace>,
): Promise<void> => {
  for (const batch of inBatches(items, CONCURRENT_DELETES)) {
    const responses = await Promise.all(
      batch.map(({ table, item: { pk, sk } }) =>
        session.documents.send(
          new DeleteCommand({
            TableName: tableOf(session, table),
            Key: { pk, ...(sk !== undefined && { sk }) },
            ReturnConsumedCapacity: 'TOTAL',
          }),
        ),
      ),
    );
    await pace(responses.reduce((units, { ConsumedCapacity }) => units + (ConsumedCapacity?.CapacityUnits ?? 0), 0));
  }
};

/** Calls `remove` with all items of the tenant in these tables, and then adds them to the counts. */
const eachItem = async (
  session: Session,
  tenant: string,
  tables: readonly TableName[],
  counts: Deletion,
  remove: (items: readonly OwnedItem[]) => Promise<void>,
): Promise<void> => {
  for await (const items of itemsOf(session, tenant, { tables, isKeysOnly: true })) {
    await remove(items);
    for (const { kind } of items) add(counts, kind);
  }
};

/** Counts what `deleteTenant` would delete. Changes nothing. */
export const countTenant = async (session: Session, tenant: string): Promise<Deletion> => {
  const counts: Deletion = { items: {}, deadLetters: {} };
  await eachItem(session, tenant, tableNames, counts, async () => undefined);
  counts.deadLetters = await visitDeadLettersOf(session, tenant, async () => undefined);
  return counts;
};

/**
 * Deletes all data of a tenant that is stored when it is called. It can be repeated: after an interruption, or to delete
 * what alerts in flight have added since (docs/operations.md#data-of-one-tenant).
 *
 * The tokens are revoked first, so that no request adds data behind the deletion. Then the notifications: without them,
 * alerts in flight end. The delivery records follow later, since those alerts write some. The audit of the tenant is
 * deleted last; that the tenant was deleted, and by whom, is in the audit of the stack.
 */
export const deleteTenant = async (session: Session, tenant: string, timing: Timing = realTime): Promise<Deletion> => {
  const deleted: Deletion = { items: {}, deadLetters: {} };
  const pace = createPace(timing);
  const remove = (items: readonly OwnedItem[]) => deleteItems(session, items, pace);
  await session.record({ action: 'delete-tenant', target_id: tenant });
  const revoked = await stopAccess(session, tenant, timing);
  if (revoked.length > 0) add(deleted, 'tokens', revoked.length);
  await eachItem(session, tenant, ['notifications'], deleted, remove);
  deleted.deadLetters = await visitDeadLettersOf(session, tenant, (_, { messages, remove }) => remove(messages));
  await eachItem(session, tenant, ['accounts', 'tokens', 'deliveries', 'audits'], deleted, remove);
  return deleted;
};
