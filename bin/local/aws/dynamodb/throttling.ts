import { type AwsResponse, jsonFault, LOCAL_ENV } from '../aws-service.ts';
import type { Operation, PartitionCapacity } from './partition-capacity.ts';

/** One access to one partition key value of a table; a scan has no key. */
export type Access = {
  table: string;
  partitionKey: string | undefined;
  operation: Operation;
  /** The name of the function that asks, or another caller's access key. */
  caller: string;
};

/** What to throttle on demand: an access is refused when everything that is given fits. */
export type ThrottlingRule = {
  /** The name of a table; without it, every table. */
  table?: string;
  /**
   * Refuses only the keys that this accepts, as DynamoDB does with hot keys. Without it, the whole table is refused, as
   * when the account's quota is reached.
   */
  partitionKey?: (value: string) => boolean;
  operation?: Operation;
  /** The name of a function, which alone is refused. */
  caller?: string;
};

/** Why an access was refused, in the words of DynamoDB. */
export type ThrottlingReason = {
  reason: `Table${'Read' | 'Write'}${'KeyRangeThroughputExceeded' | 'AccountLimitExceeded'}`;
  /** The ARN of the table. */
  resource: string;
};

/** Decides which accesses are refused: by the rules that tests add, and by the capacity of each key. */
export class Throttling {
  readonly #capacity: PartitionCapacity | undefined;
  readonly #rules = new Set<ThrottlingRule>();

  /** Without `capacity`, only the rules refuse. */
  constructor(capacity: PartitionCapacity | undefined) {
    this.#capacity = capacity;
  }

  /** Refuses what fits the rule until the returned function is called. */
  add(rule: ThrottlingRule): () => void {
    const added = { ...rule };
    this.#rules.add(added);
    return () => this.#rules.delete(added);
  }

  /** Why an access is refused now, or undefined where it is admitted. */
  reason(access: Access): ThrottlingReason | undefined {
    const rule = [...this.#rules].find((candidate) => fits(candidate, access));
    if (rule) return reasonOf(access, rule.partitionKey ? 'KeyRangeThroughputExceeded' : 'AccountLimitExceeded');
    const { table, partitionKey, operation } = access;
    if (partitionKey === undefined || !this.#capacity || this.#capacity.has(table, partitionKey, operation)) return;
    return reasonOf(access, 'KeyRangeThroughputExceeded');
  }

  /** Counts what an access consumed. */
  consume({ table, partitionKey, operation }: Access, units: number): void {
    if (partitionKey !== undefined) this.#capacity?.consume(table, partitionKey, operation, units);
  }
}

const fits = ({ table, partitionKey, operation, caller }: ThrottlingRule, access: Access): boolean =>
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

/** The exception of an on-demand table, with each reason once. */
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
