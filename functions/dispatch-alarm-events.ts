import { createDispatch } from '../shared/adapters/dispatch/dispatch.ts';
import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createNotificationRepository } from '../shared/adapters/notification-repository.ts';
import { createQueues } from '../shared/adapters/queues.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['dispatch-alarm-events'].parse(process.env);

/** Takes alarm events and puts a delivery for each notification that hears of one on the queue of its type. */
export const handler = createDispatch(
  createNotificationRepository(createDocumentClient(), environment.NOTIFICATIONS_TABLE),
  createQueues(),
  environment,
);
