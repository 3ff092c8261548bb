import type { Access, AccessRules, AppliedItems } from './access-rule.ts';
import type { Operation } from './partition-capacity.ts';
import type { RequestTokens } from './request-tokens.ts';
import type { Table } from './table.ts';
import type { Tables } from './tables.ts';
import type { Throttling } from './throttling.ts';
import { type Attributes, attributeOf, textOf } from './value.ts';

/** The tables, and the state on which limits and transactions depend. */
export type Database = {
  tables: Tables;
  throttling: Throttling;
  /** Accesses that conflict with a transaction because a test says so. */
  conflicts: AccessRules;
  tokens: RequestTokens<AppliedItems>;
};

/** The database that a call uses, and who calls. */
export type Context = Database & { caller: string };

/** Returns the access of a call to the partition key value of an item or a key. */
export const accessOf = (
  { caller }: Context,
  operation: Operation,
  { definition: { name, partition } }: Table,
  attributes: Attributes,
): Access => {
  const value = attributeOf(attributes, partition.name);
  return { table: name, partitionKey: value && textOf(value), operation, caller: caller.replace(/^local-/, '') };
};
