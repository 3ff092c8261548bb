import type { SQSRecord } from 'aws-lambda';

/** Returns an SQS message as Lambda passes it to a function, with changes. */
export const sqsMessage = (changes: Partial<SQSRecord> = {}): SQSRecord => ({
  messageId: 'message-1',
  receiptHandle: 'receipt-1',
  body: '{}',
  attributes: {
    ApproximateReceiveCount: '1',
    SentTimestamp: '0',
    SenderId: 'sender',
    ApproximateFirstReceiveTimestamp: '0',
  },
  messageAttributes: {},
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: 'arn:aws:sqs:local-1:000000000000:queue',
  awsRegion: 'local-1',
  ...changes,
});
