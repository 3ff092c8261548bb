import type { Access, AccessRules, AppliedItems } from './access-rule.ts';
import type { Operation } from './partition-capacity.ts';
import type { RequestTokens } from './request-tokens.ts';
import type { Table } from './table.ts';
import type { Tables } from './tables.ts';
import { type Throttling, type ThrottlingReason, throttlingException } from './throttling.ts';
import { type Attributes, attributeOf, textOf } from './value.ts';

/** The tables and the state on which limits and transactions depend, and who calls. */
export type Context = {
  tables: Tables;
  throttling: Throttling;
  /** Accesses that conflict with a transaction because a test says so. */
  conflicts: AccessRules;
  tokens: RequestTokens<AppliedItems>;
  caller: string;
};

/** Returns the access of a call to the partition key value of an item or a key. */
export const accessOf = ({ caller }: Context, operation: Operation, table: Table, attributes: Attributes): Access => {
  const value = attributeOf(attributes, table.definition.partition.name);
  const partitionKey = value && textOf(value);
  return { table: table.definition.name, partitionKey, operation, caller: caller.replace(/^local-/, '') };
};

/**
 * Consumes the capacity of the accesses of a batch. Those that are throttled or postponed remain unprocessed.
 *
 * @throws DynamoDbError if all are throttled
 */
export const admitBatch = <Entry extends { access: Access; units: number }>(
  { throttling }: Context,
  entries: readonly Entry[],
  isPostponed: (entry: Entry) => boolean,
): { admitted: Entry[]; unprocessed: Entry[] } => {
  const [admitted, unprocessed]: [Entry[], Entry[]] = [[], []];
  const reasons: ThrottlingReason[] = [];
  for (const entry of entries) {
    const reason = throttling.reason(entry.access);
    if (reason) reasons.push(reason);
    const isAdmitted = !reason && !isPostponed(entry);
    if (isAdmitted) throttling.consume(entry.access, entry.units);
    (isAdmitted ? admitted : unprocessed).push(entry);
  }
  if (reasons.length === entries.length) throw throttlingException(reasons);
  return { admitted, unprocessed };
};

/** The member of a request for the consumed capacity. */
export type CapacityRequest = { ReturnConsumedCapacity?: 'TOTAL' | undefined };

/** Returns the member `ConsumedCapacity` of a response if the request asks for it. */
export const consumedCapacity = (
  { ReturnConsumedCapacity }: CapacityRequest,
  TableName: string,
  CapacityUnits: number,
): object | undefined => ReturnConsumedCapacity && { TableName, CapacityUnits };
