import db, { type Item, type Store } from 'dynalite/db/index.js';
import type { AwsResponse } from '../aws-service.ts';
import { NONE, transactionCanceled } from './cancellation.ts';
import { consumedCapacity } from './consumed-capacity.ts';
import type { CallContext } from './context.ts';
import { run } from './dynalite.ts';
import { itemBytes } from './item-size.ts';
import { itemPrefix } from './level-keys.ts';
import { success } from './protocol.ts';
import { admit } from './transaction-admission.ts';
import { invalidKeys, tableOf } from './transaction-keys.ts';
import { readTransactGet, rejectTooLarge, type TransactionItem } from './transaction-request.ts';

/** Reads up to 100 items as they are at one moment. */
export const transactGet = async (context: CallContext): Promise<AwsResponse> => {
  const { call, store } = context;
  const request = readTransactGet(store, call.body);
  const invalid = await invalidKeys(store, request.items);
  if (invalid) return invalid;
  const keys = await Promise.all(request.items.map((item) => levelKey(store, item)));
  const admitted = admit(context, 'read', request.items);
  if (admitted.some(({ reason }) => reason !== NONE)) return transactionCanceled(admitted.map(({ reason }) => reason));
  const found = await store.db.getMany(keys);
  rejectTooLarge(found.map((item) => itemBytes(item ?? {})));
  const responses = request.items.map((item, index) => project(store, item, found[index]));
  return success({
    ...consumedCapacity(request.returnConsumedCapacity, 'Read', admitted),
    Responses: await Promise.all(responses),
  });
};

const levelKey = async (store: Store, { table, item }: TransactionItem): Promise<string> =>
  itemPrefix(table) + db.createKey(item, await tableOf(store, table));

/** Returns the attributes of an item that the request asks for, as `GetItem` does. */
const project = (store: Store, { operation, data }: TransactionItem, item: Item | undefined): Promise<object> => {
  const view: Store = {
    ...store,
    getItemDb: (table) => ({ ...store.getItemDb(table), get: (_, callback) => callback(null, item) }),
  };
  return run(view, operation, data);
};
