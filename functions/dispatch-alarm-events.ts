import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createDestinationListWriter } from '../shared/adapters/deliveries/destination-list.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createDispatch } from '../shared/pipeline/dispatch/dispatch.ts';
import { createEscalation } from '../shared/pipeline/notices/escalation.ts';
import { createNoticeQueue } from '../shared/pipeline/notices/notice-queue.ts';

const environment = parseEnvironment('dispatch-alarm-events');
const client = createDocumentClient();
const queues = createQueues();

/** Sends a delivery message for each notification of an alarm event to the queue of its type. */
export const handler = createDispatch(
  createTargetReader(client, environment.NOTIFICATIONS_TABLE),
  queues,
  createDestinationListWriter(client, environment.DELIVERIES_TABLE),
  createEscalation(client, createNoticeQueue(queues, environment.SENDER_QUEUES, Date.now), environment),
  environment,
);
