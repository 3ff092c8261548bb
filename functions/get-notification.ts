import { createEmailStops } from '../shared/adapters/accounts/email-stops.ts';
import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { createNotificationResponse } from '../shared/api/notification-change.ts';
import { pathId } from '../shared/api/request.ts';
import { notFound } from '../shared/domain/errors.ts';

const { environment, client, endpoint } = apiFunction('get-notification');
const notifications = createNotificationReader(client, environment.NOTIFICATIONS_TABLE);
const respond = createNotificationResponse(createEmailStops(client, environment.ACCOUNTS_TABLE));

/** GET /notifications/{id}: 200 with the notification, and the stop of its address if there is one. */
export const handler = endpoint(pathId, async (id, { tenant }) => {
  const notification = await notifications.get({ tenant, id });
  if (!notification) throw notFound('The notification');
  return respond(tenant, notification.record);
});
