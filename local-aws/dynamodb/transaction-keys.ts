import db, { type DynaliteError, type Store, type Table } from 'dynalite/db/index.js';
import type { AwsResponse } from '../aws-service.ts';
import { type CancellationReason, NONE, reasonOf, transactionCanceled } from './cancellation.ts';
import type { TransactionItem } from './transaction-request.ts';

/**
 * Compares the keys of a transaction with its tables. Returns the response if they do not match.
 *
 * @throws the error of dynalite for an absent table, an empty key or an item that occurs twice
 */
export const invalidKeys = async (
  store: Store,
  items: readonly TransactionItem[],
): Promise<AwsResponse | undefined> => {
  const reasons: CancellationReason[] = [];
  const keys = new Set<string>();
  for (const { table: name, item, isPut } of items) {
    const table = await tableOf(store, name);
    const invalid = isPut ? db.validateItem(item, table) : db.validateKey(item, table);
    if (invalid) reasons.push(reasonOfKey(invalid));
    else {
      reasons.push(NONE);
      keys.add(JSON.stringify([name, db.createKey(item, table)]));
    }
  }
  if (reasons.some((reason) => reason !== NONE)) return transactionCanceled(reasons);
  if (keys.size < items.length) {
    throw db.validationError('Transaction request cannot include multiple operations on one item');
  }
  return undefined;
};

/** Returns a table. Rejects with the error of dynalite if it does not exist. */
export const tableOf = (store: Store, name: string): Promise<Table> =>
  new Promise((resolve, reject) => {
    store.getTable(name, (error, table) => (table ? resolve(table) : reject(error)));
  });

/** DynamoDB finds an empty key without the table, and any other mismatch only in the transaction. */
const reasonOfKey = (invalid: DynaliteError): CancellationReason => {
  if (invalid.message.includes('cannot contain an empty')) throw invalid;
  return reasonOf(invalid);
};
