import type { Access } from './access-rule.ts';
import { type CancellationReason, CONFLICT, NONE, THROTTLED } from './cancellation.ts';
import { accessOf, type CallContext } from './context.ts';
import { itemBytes } from './item-size.ts';
import { type Operation, readUnits, writeUnits } from './partition-capacity.ts';
import type { TransactionItem } from './transaction-request.ts';

/** An item of a transaction, and whether DynamoDB can write it now. */
export type AdmittedItem = TransactionItem & {
  id: string;
  access: Access;
  /** The capacity units consumed so far. */
  units: number;
  /** Why it cancels the transaction, or `NONE`. */
  reason: CancellationReason;
};

/** Transactions consume twice the units of other requests: DynamoDB prepares each item and then commits it. */
const TRANSACTION_FACTOR = 2;

/** Returns the units of a transaction for one item of this size. */
export const transactionUnits = (operation: Operation, bytes: number): number =>
  TRANSACTION_FACTOR * (operation === 'read' ? readUnits(bytes, true) : writeUnits(bytes));

/** Consumes the capacity of items that are neither throttled nor used by another transaction. */
export const admit = (context: CallContext, transactionItems: readonly TransactionItem[]): AdmittedItem[] => {
  const { items, locks, throttling, conflicts } = context;
  return transactionItems.map((transactionItem) => {
    const { table, item, isPut } = transactionItem;
    const access = accessOf(context, 'write', table, items.partitionKey(table, item));
    const admitted = { ...transactionItem, id: items.id(table, item), access, units: 0 };
    if (throttling.reason(access)) return { ...admitted, reason: THROTTLED };
    if (locks.isLocked(admitted.id) || conflicts.match(access)) return { ...admitted, reason: CONFLICT };
    const units = transactionUnits('write', Math.max(items.bytes(table, item), isPut ? itemBytes(item) : 0));
    throttling.consume(access, units);
    return { ...admitted, units, reason: NONE };
  });
};
