import type { AwsCall, AwsService } from '../aws-service.ts';
import type { Operation } from './partition-capacity.ts';
import type { StoredItems } from './stored-items.ts';
import type { Access, Throttling } from './throttling.ts';

/** A call, DynamoDB without limits, and the state that the limits depend on. */
export type CallContext = {
  call: AwsCall;
  inner: AwsService;
  items: StoredItems;
  throttling: Throttling;
};

/** Returns the access to one partition key value that a call makes, for throttling. */
export const accessOf = (
  { call }: CallContext,
  operation: Operation,
  table: string,
  partitionKey: string | undefined,
): Access => ({ table, partitionKey, operation, caller: call.caller.replace(/^local-/, '') });
