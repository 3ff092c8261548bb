import type { Operation } from './partition-capacity.ts';

/** An access to one partition key value of a table; a scan has no key. */
export type Access = {
  table: string;
  partitionKey: string | undefined;
  operation: Operation;
  /** The name of the calling function, or the access key of another caller. */
  caller: string;
};

/** The items of an applied transaction, which a repeated request reads instead of writing them again. */
export type AppliedItems = { access: Access; bytes: number }[];

/** Which accesses a fault applies to: those that match all given conditions. */
export type AccessRule = {
  /** The name of a table; every table if absent. */
  table?: string;
  /** Only the keys for which this returns true. */
  partitionKey?: (value: string) => boolean;
  operation?: Operation;
  /** The name of the only function. */
  caller?: string;
};

export class AccessRules {
  readonly #rules = new Set<AccessRule>();

  /** Adds a rule until the returned function is called. */
  add(rule: AccessRule): () => void {
    const added = { ...rule };
    this.#rules.add(added);
    return () => this.#rules.delete(added);
  }

  match(access: Access): AccessRule | undefined {
    if (this.#rules.size === 0) return undefined;
    return [...this.#rules].find((rule) => matches(rule, access));
  }
}

const matches = ({ table, partitionKey, operation, caller }: AccessRule, access: Access): boolean =>
  (table === undefined || table === access.table) &&
  (operation === undefined || operation === access.operation) &&
  (caller === undefined || caller === access.caller) &&
  (partitionKey === undefined || (access.partitionKey !== undefined && partitionKey(access.partitionKey)));
