import type { ParsedEnvironment } from '../../shared/environment.ts';
import { senderQueueUrls } from './queue-urls.ts';

/** The settings of delivery reports with all notices switched on, for tests that send no requests to SQS. */
export const reportEnvironment: ParsedEnvironment<'report-deliveries'> = {
  ACCOUNTS_TABLE: 'accounts',
  DELIVERIES_TABLE: 'deliveries',
  NOTIFICATIONS_TABLE: 'notifications',
  REPORTS_QUEUE: 'https://sqs/reports',
  SENDER_QUEUES: { ...senderQueueUrls, technicalContactsEmail: 'https://sqs/contacts', managed: 'https://sqs/managed' },
  API_URL: 'https://api.example.com',
  RETRY_DELAY_SCALE: 1,
  DEAD_LETTER_EMAIL: true,
  FAILING_NOTICES: true,
  ESCALATE_UNREACHED: 'contacts+managed',
  OUTCOMES_TOPIC: undefined,
};
