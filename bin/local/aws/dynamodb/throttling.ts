import { type AwsResponse, jsonFault, LOCAL_ENV } from '../aws-service.ts';
import type { Operation, PartitionCapacity } from './partition-capacity.ts';

/** An access to one partition key value of a table; a scan has no key. */
export type Access = {
  table: string;
  partitionKey: string | undefined;
  operation: Operation;
  /** The name of the calling function, or the access key of another caller. */
  caller: string;
};

/** Which accesses to throttle: those that match all given conditions. */
export type ThrottlingRule = {
  /** The name of a table; every table if absent. */
  table?: string;
  /**
   * Throttles only the keys for which this returns true, as DynamoDB throttles hot keys. If absent, throttles the whole
   * table, as DynamoDB does when the account reaches its quota.
   */
  partitionKey?: (value: string) => boolean;
  operation?: Operation;
  /** The name of the only function to throttle. */
  caller?: string;
};

/** A throttling reason with the values that DynamoDB uses. */
export type ThrottlingReason = {
  reason: `Table${'Read' | 'Write'}${'KeyRangeThroughputExceeded' | 'AccountLimitExceeded'}`;
  /** The ARN of the table. */
  resource: string;
};

/** Throttles accesses by the rules that tests add and by the capacity of each key. */
export class Throttling {
  readonly #capacity: PartitionCapacity | undefined;
  readonly #rules = new Set<ThrottlingRule>();

  /** If `capacity` is undefined, only rules throttle. */
  constructor(capacity: PartitionCapacity | undefined) {
    this.#capacity = capacity;
  }

  /** Throttles the accesses that match the rule until the returned function is called. */
  add(rule: ThrottlingRule): () => void {
    const added = { ...rule };
    this.#rules.add(added);
    return () => this.#rules.delete(added);
  }

  /** Returns why an access is throttled now, or undefined if it is admitted. */
  reason(access: Access): ThrottlingReason | undefined {
    const rule = [...this.#rules].find((candidate) => matches(candidate, access));
    if (rule) return reasonOf(access, rule.partitionKey ? 'KeyRangeThroughputExceeded' : 'AccountLimitExceeded');
    const { table, partitionKey, operation } = access;
    if (partitionKey === undefined || !this.#capacity || this.#capacity.hasCapacity(table, partitionKey, operation))
      return;
    return reasonOf(access, 'KeyRangeThroughputExceeded');
  }

  /** Consumes capacity units of the partition key value; a scan consumes none. */
  consume({ table, partitionKey, operation }: Access, units: number): void {
    if (partitionKey !== undefined) this.#capacity?.consume(table, partitionKey, operation, units);
  }
}

const matches = ({ table, partitionKey, operation, caller }: ThrottlingRule, access: Access): boolean =>
  (table === undefined || table === access.table) &&
  (operation === undefined || operation === access.operation) &&
  (caller === undefined || caller === access.caller) &&
  (partitionKey === undefined || (access.partitionKey !== undefined && partitionKey(access.partitionKey)));

const reasonOf = (
  { table, operation }: Access,
  limit: 'KeyRangeThroughputExceeded' | 'AccountLimitExceeded',
): ThrottlingReason => ({
  reason: `Table${operation === 'read' ? 'Read' : 'Write'}${limit}`,
  resource: `arn:aws:dynamodb:${LOCAL_ENV.region}:${LOCAL_ENV.account}:table/${table}`,
});

/** Returns the exception of an on-demand table, with each reason once. */
export const throttlingException = (reasons: readonly ThrottlingReason[]): AwsResponse => {
  const distinct = new Map(reasons.map((reason) => [`${reason.reason} ${reason.resource}`, reason]));
  return jsonFault({
    status: 400,
    type: 'com.amazonaws.dynamodb.v20120810#ThrottlingException',
    message:
      'Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key.',
    members: { throttlingReasons: [...distinct.values()] },
  });
};
