import type { Store } from 'dynalite/db/index.js';
import type { AwsCall, AwsService } from '../aws-service.ts';
import type { Access, AccessRules, AppliedItems } from './access-rule.ts';
import type { ItemLocks } from './item-locks.ts';
import type { Operation } from './partition-capacity.ts';
import type { RequestTokens } from './request-tokens.ts';
import type { StoredItems } from './stored-items.ts';
import type { Throttling } from './throttling.ts';

/** The tables, and the state on which limits and transactions depend. */
export type Database = {
  store: Store;
  /** The operations of dynalite, without limits. */
  inner: AwsService;
  items: StoredItems;
  throttling: Throttling;
  locks: ItemLocks;
  /** Accesses that conflict with a transaction because a test says so. */
  conflicts: AccessRules;
  tokens: RequestTokens<AppliedItems>;
};

/** A call and the database that it uses. */
export type CallContext = Database & { call: AwsCall };

/** Returns the access to one partition key value that a call makes, for throttling. */
export const accessOf = (
  { call }: CallContext,
  operation: Operation,
  table: string,
  partitionKey: string | undefined,
): Access => ({ table, partitionKey, operation, caller: call.caller.replace(/^local-/, '') });
