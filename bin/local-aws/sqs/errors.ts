/** An error response of SQS; `code` is the error's name in the JSON protocol. */
export class SqsError extends Error {
  readonly code: SqsErrorCode;

  constructor(code: SqsErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** The error's name in the query protocol, which the JSON protocol adds in `x-amzn-query-error`. */
  get queryCode(): string {
    return QUERY_CODES[this.code];
  }
}

const QUERY_CODES = {
  BatchEntryIdsNotDistinct: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct',
  BatchRequestTooLong: 'AWS.SimpleQueueService.BatchRequestTooLong',
  EmptyBatchRequest: 'AWS.SimpleQueueService.EmptyBatchRequest',
  InvalidBatchEntryId: 'AWS.SimpleQueueService.InvalidBatchEntryId',
  InvalidMessageContents: 'InvalidMessageContents',
  InvalidParameterValueException: 'InvalidParameterValue',
  MessageNotInflight: 'AWS.SimpleQueueService.MessageNotInflight',
  MissingRequiredParameterException: 'MissingParameter',
  QueueDoesNotExist: 'AWS.SimpleQueueService.NonExistentQueue',
  ReceiptHandleIsInvalid: 'ReceiptHandleIsInvalid',
  ResourceNotFoundException: 'ResourceNotFoundException',
  TooManyEntriesInBatchRequest: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
  UnsupportedOperation: 'AWS.SimpleQueueService.UnsupportedOperation',
} as const;

/** The SQS errors that the local SQS returns. */
export type SqsErrorCode = keyof typeof QUERY_CODES;

export const invalidValue = (parameter: string, reason: string): SqsError =>
  new SqsError('InvalidParameterValueException', `Value for parameter ${parameter} is invalid. Reason: ${reason}`);
