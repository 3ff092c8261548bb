import type { AwsCall, AwsService } from '../aws-service.ts';
import type { Operation } from './partition-capacity.ts';
import type { StoredItems } from './stored-items.ts';
import type { Access, Throttling } from './throttling.ts';

/** A call and the state that its limits depend on. */
export type Context = {
  call: AwsCall;
  inner: AwsService;
  items: StoredItems;
  throttling: Throttling;
};

/** Returns the access of a call to one partition key value of a table. */
export const accessOf = (
  { call }: Context,
  operation: Operation,
  table: string,
  partitionKey: string | undefined,
): Access => ({ table, partitionKey, operation, caller: call.caller.replace(/^local-/, '') });
