import { LOCAL_ENV } from '../aws-service.ts';
import { type Access, type AccessRule, AccessRules } from './access-rule.ts';
import { type DynamoDbError, exception } from './errors.ts';
import type { PartitionCapacity } from './partition-capacity.ts';

export type ThrottlingReason = {
  reason: `Table${'Read' | 'Write'}${'KeyRangeThroughputExceeded' | 'AccountLimitExceeded'}`;
  /** The ARN of the table. */
  resource: string;
};

export class Throttling {
  readonly #capacity: PartitionCapacity | undefined;
  readonly #rules = new AccessRules();

  /** If `capacity` is undefined, only rules throttle. */
  constructor(capacity: PartitionCapacity | undefined) {
    this.#capacity = capacity;
  }

  /**
   * Throttles the accesses that match the rule until the returned function is called: as DynamoDB throttles hot keys if
   * the rule selects keys, otherwise as it does when the account reaches its quota.
   */
  add(rule: AccessRule): () => void {
    return this.#rules.add(rule);
  }

  /** Returns why an access is throttled now, or undefined if it is admitted. */
  reason(access: Access): ThrottlingReason | undefined {
    const rule = this.#rules.match(access);
    if (rule) return reasonOf(access, rule.partitionKey ? 'KeyRangeThroughputExceeded' : 'AccountLimitExceeded');
    const { table, partitionKey, operation } = access;
    if (partitionKey === undefined || !this.#capacity || this.#capacity.hasCapacity(table, partitionKey, operation))
      return;
    return reasonOf(access, 'KeyRangeThroughputExceeded');
  }

  /** @throws DynamoDbError if an access is throttled now */
  assertAdmitted(access: Access): void {
    const reason = this.reason(access);
    if (reason) throw throttlingException([reason]);
  }

  /** Consumes capacity units of the partition key value; a scan consumes none. */
  consume({ table, partitionKey, operation }: Access, units: number): void {
    if (partitionKey !== undefined) this.#capacity?.consume(table, partitionKey, operation, units);
  }
}

const reasonOf = (
  { table, operation }: Access,
  limit: 'KeyRangeThroughputExceeded' | 'AccountLimitExceeded',
): ThrottlingReason => ({
  reason: `Table${operation === 'read' ? 'Read' : 'Write'}${limit}`,
  resource: `arn:aws:dynamodb:${LOCAL_ENV.region}:${LOCAL_ENV.account}:table/${table}`,
});

/** Returns the exception of an on-demand table, with each reason once. */
export const throttlingException = (reasons: readonly ThrottlingReason[]): DynamoDbError => {
  const distinct = new Map(reasons.map((reason) => [`${reason.reason} ${reason.resource}`, reason]));
  return exception('ThrottlingException', `${THROTTLED}.`, { throttlingReasons: [...distinct.values()] });
};

/** The start of the messages of all throttled requests. */
export const THROTTLED =
  'Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key';
