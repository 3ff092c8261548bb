import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { environments } from '../shared/environment.ts';
import { createDispatch } from '../shared/pipeline/dispatch/dispatch.ts';

const environment = environments['dispatch-alarm-events'].parse(process.env);

/** Sends a delivery message for each notification of an alarm event to the queue of its type. */
export const handler = createDispatch(
  createNotificationRepository(createDocumentClient(), environment.NOTIFICATIONS_TABLE),
  createQueues(),
  environment,
);
