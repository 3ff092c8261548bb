import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createDestinationListWriter } from '../shared/adapters/deliveries/destination-list.ts';
import { createDispatchedCheck } from '../shared/adapters/deliveries/stored-record.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createDispatch } from '../shared/pipeline/dispatch/dispatch.ts';
import { createEscalation } from '../shared/pipeline/notices/escalation.ts';
import { createNoticeQueue } from '../shared/pipeline/notices/notice-queue.ts';

const environment = parseEnvironment('dispatch-alarm-events');
const client = createDocumentClient();
const queues = createQueues();
const notifications = createTargetReader(client, environment.NOTIFICATIONS_TABLE);
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const notices = createNoticeQueue(queues, environment.SENDER_QUEUES, Date.now);

/** Sends a delivery message for each notification of an alarm event to the queue of its type. */
export const handler = createDispatch(
  notifications,
  queues,
  createDestinationListWriter(client, environment.DELIVERIES_TABLE),
  createDispatchedCheck(client, environment.DELIVERIES_TABLE),
  createEscalation({ client, notices, accounts, notifications }, environment),
  environment,
);
