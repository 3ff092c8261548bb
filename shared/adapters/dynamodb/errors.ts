import type { BatchWriteCommandInput } from '@aws-sdk/lib-dynamodb';

/** Puts and deletes of one table, as BatchWriteItem takes them. */
export type WriteRequests = NonNullable<BatchWriteCommandInput['RequestItems']>[string];

/** What the AWS SDK knows a throttled request by, so that these errors count as failures of a dependency. */
const throttling = { throttling: true } as const;

/** DynamoDB left a key unprocessed twice: nothing is known of its item. */
export class UnprocessedKeyError extends Error {
  override readonly name = 'UnprocessedKeyError';
  readonly $retryable = throttling;

  constructor() {
    super('DynamoDB left the key unprocessed twice.');
  }
}

/** DynamoDB left items unprocessed in every round. */
export class UnprocessedItemsError extends Error {
  override readonly name = 'UnprocessedItemsError';
  readonly $retryable = throttling;
  /** The puts and deletes that were never applied. */
  readonly requests: WriteRequests;

  constructor(requests: WriteRequests) {
    super(`DynamoDB left ${requests.length} items unprocessed.`);
    this.requests = requests;
  }
}
