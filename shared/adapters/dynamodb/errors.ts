import type { WriteRequest } from './items.ts';

/** Marks an error as throttling for the AWS SDK, so that `isDependencyFailure` and `isThrottled` apply. */
const throttling = { throttling: true } as const;

/** DynamoDB left a key unprocessed twice, so it is unknown whether its item exists. */
export class UnprocessedKeyError extends Error {
  override readonly name = 'UnprocessedKeyError';
  readonly $retryable = throttling;

  constructor() {
    super('DynamoDB left the key unprocessed twice.');
  }
}

/** DynamoDB left items unprocessed in every attempt. */
export class UnprocessedItemsError extends Error {
  override readonly name = 'UnprocessedItemsError';
  readonly $retryable = throttling;
  /** The unprocessed puts and deletes. */
  readonly requests: readonly WriteRequest[];

  constructor(requests: readonly WriteRequest[]) {
    super(`DynamoDB left ${requests.length} items unprocessed.`);
    this.requests = requests;
  }
}

/** Other transactions used the items of a write in every attempt, or the items of a transaction were throttled. */
export class TransactionContentionError extends Error {
  override readonly name = 'TransactionContentionError';
  readonly $retryable = throttling;

  constructor(cause: unknown) {
    super('The items are used by other transactions, or throttled.', { cause });
  }
}

/** The responses to all copies of a transaction were lost. */
export class UnconfirmedChangeError extends Error {
  override readonly name = 'UnconfirmedChangeError';

  constructor(cause: unknown) {
    super('It is unknown whether the change was applied.', { cause });
  }
}
