import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createDestinationListWriter } from '../shared/adapters/deliveries/destination-list.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createDispatch } from '../shared/pipeline/dispatch/dispatch.ts';

const environment = parseEnvironment('dispatch-alarm-events');
const client = createDocumentClient();

/** Sends a delivery message for each notification of an alarm event to the queue of its type. */
export const handler = createDispatch(
  createTargetReader(client, environment.NOTIFICATIONS_TABLE),
  createQueues(),
  createDestinationListWriter(client, environment.DELIVERIES_TABLE),
  environment,
);
