import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { pathParameter } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { notFound } from '../shared/domain/errors.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('get-notification');
const client = createDocumentClient();
const notifications = createNotificationReader(client, environment.NOTIFICATIONS_TABLE);

/** GET /notifications/{notificationId}: 200 with the notification. */
export const handler = endpoint(
  'get-notification',
  tokenAuthentication(client, environment),
  (request) => pathParameter(request, 'notificationId'),
  async (id, { tenant }) => {
    const notification = await notifications.get({ tenant, id });
    if (!notification) throw notFound('The notification');
    return ok(notification.record);
  },
);
