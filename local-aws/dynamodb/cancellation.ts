import type { DynaliteError, Item } from 'dynalite/db/index.js';
import type { AwsResponse } from '../aws-service.ts';
import { isConditionFailure } from './dynalite.ts';
import { exception } from './protocol.ts';

/** Why one item of a transaction cancels it; `None` if it does not. */
export type CancellationReason = {
  Code: 'None' | 'ConditionalCheckFailed' | 'ThrottlingError' | 'TransactionConflict' | 'ValidationError';
  Message?: string;
  Item?: Item;
};

/** The item does not cancel the transaction. */
export const NONE: CancellationReason = { Code: 'None' };

/** Another transaction uses the item. */
export const CONFLICT: CancellationReason = {
  Code: 'TransactionConflict',
  Message: 'Transaction is ongoing for the item',
};

/** The item is throttled, in an on-demand table. */
export const THROTTLED: CancellationReason = {
  Code: 'ThrottlingError',
  Message:
    'Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html.',
};

/** Returns the reason for an error of one item; `item` is the item if the request asks for it. */
export const reasonOf = (error: DynaliteError, item?: Item): CancellationReason => {
  const Message = error.body.message ?? '';
  if (!isConditionFailure(error)) return { Code: 'ValidationError', Message };
  return { Code: 'ConditionalCheckFailed', Message, ...(item && { Item: item }) };
};

/** Returns the response to a transaction that its items cancel, with one reason for each item. */
export const transactionCanceled = (reasons: readonly CancellationReason[]): AwsResponse => {
  const codes = reasons.map(({ Code }) => Code).join(', ');
  return exception(
    'TransactionCanceledException',
    `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    { CancellationReasons: reasons },
  );
};
