import type { AwsCall, AwsService } from '../aws-service.ts';
import type { Operation } from './partition-capacity.ts';
import type { StoredItems } from './stored-items.ts';
import type { Access, Throttling } from './throttling.ts';

/** One call, and what it is limited by. */
export type Context = {
  call: AwsCall;
  inner: AwsService;
  items: StoredItems;
  throttling: Throttling;
};

/** The access of a call to one partition key value of a table. */
export const accessOf = (
  { call }: Context,
  operation: Operation,
  table: string,
  partitionKey: string | undefined,
): Access => ({ table, partitionKey, operation, caller: call.caller.replace(/^local-/, '') });
