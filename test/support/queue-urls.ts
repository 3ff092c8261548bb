import { byType } from '../../shared/contracts/notification-types.ts';

/** Returns a queue URL for tests that send no requests to SQS. */
export const queueUrl = (name: string): string => `https://sqs.example.com/1/${name}`;

export const senderQueueUrls = byType(queueUrl);
