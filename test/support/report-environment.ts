import type { ReportEnvironment } from '../../shared/pipeline/notices/delivery-reports.ts';
import { senderQueueUrls } from './queue-urls.ts';

/** The settings of delivery reports with all notices switched on, for tests that send no requests to SQS. */
export const reportEnvironment: ReportEnvironment = {
  ACCOUNTS_TABLE: 'accounts',
  SENDER_QUEUES: { ...senderQueueUrls, technicalContactsEmail: 'https://sqs/contacts', managed: 'https://sqs/managed' },
  API_URL: 'https://api.example.com',
  RETRY_DELAY_SCALE: 1,
  DEAD_LETTER_EMAIL: true,
  FAILING_NOTICES: true,
  ESCALATE_UNREACHED: 'contacts+managed',
};
