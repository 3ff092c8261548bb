import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';

/** Returns a queue URL for tests that send no requests to SQS. */
export const queueUrl = (name: string): string => `https://sqs.example.com/1/${name}`;

/** The queue URL of each sender. */
export const senderQueueUrls: Record<NotificationTypeId, string> = {
  email: queueUrl('email'),
  technicalContactsEmail: queueUrl('technicalContactsEmail'),
  webhook: queueUrl('webhook'),
  sms: queueUrl('sms'),
  incidentpager: queueUrl('incidentpager'),
  incidentrouter: queueUrl('incidentrouter'),
  atomfeed: queueUrl('atomfeed'),
  managed: queueUrl('managed'),
};
