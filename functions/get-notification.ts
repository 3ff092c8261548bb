import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { pathParameter } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { notFound } from '../shared/domain/errors.ts';

const { environment, client, endpoint } = apiFunction('get-notification');
const notifications = createNotificationReader(client, environment.NOTIFICATIONS_TABLE);

/** GET /notifications/{notificationId}: 200 with the notification. */
export const handler = endpoint(
  (request) => pathParameter(request, 'notificationId'),
  async (id, { tenant }) => {
    const notification = await notifications.get({ tenant, id });
    if (!notification) throw notFound('The notification');
    return ok(notification.record);
  },
);
