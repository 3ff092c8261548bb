/** An answer of SQS that refuses a request: `code` is the error's name in the JSON protocol. */
export class SqsError extends Error {
  readonly code: SqsErrorCode;

  constructor(code: SqsErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** The name that older SDKs know the error by; the JSON protocol sends it along in `x-amzn-query-error`. */
  get queryCode(): string {
    return queryCodes[this.code];
  }
}

const queryCodes = {
  BatchEntryIdsNotDistinct: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct',
  BatchRequestTooLong: 'AWS.SimpleQueueService.BatchRequestTooLong',
  EmptyBatchRequest: 'AWS.SimpleQueueService.EmptyBatchRequest',
  InvalidBatchEntryId: 'AWS.SimpleQueueService.InvalidBatchEntryId',
  InvalidMessageContents: 'InvalidMessageContents',
  InvalidParameterValueException: 'InvalidParameterValue',
  MessageNotInflight: 'AWS.SimpleQueueService.MessageNotInflight',
  MissingRequiredParameterException: 'MissingParameter',
  OverLimit: 'OverLimit',
  QueueDoesNotExist: 'AWS.SimpleQueueService.NonExistentQueue',
  ReceiptHandleIsInvalid: 'ReceiptHandleIsInvalid',
  ResourceNotFoundException: 'ResourceNotFoundException',
  TooManyEntriesInBatchRequest: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
  UnsupportedOperation: 'AWS.SimpleQueueService.UnsupportedOperation',
} as const;

/** The errors of SQS that the local one gives. */
export type SqsErrorCode = keyof typeof queryCodes;

/** The error for a value that SQS does not take. */
export function invalidValue(parameter: string, reason: string): SqsError {
  return new SqsError(
    'InvalidParameterValueException',
    `Value for parameter ${parameter} is invalid. Reason: ${reason}`,
  );
}
