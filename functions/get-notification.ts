import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { ok } from '../shared/adapters/http-api/answer.ts';
import { endpoint } from '../shared/adapters/http-api/endpoint.ts';
import { pathParameter } from '../shared/adapters/http-api/request.ts';
import { createNotificationRepository } from '../shared/adapters/notification-repository.ts';
import { tokenAuthentication } from '../shared/adapters/token-repository.ts';
import { notFound } from '../shared/domain/errors.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['get-notification'].parse(process.env);
const client = createDocumentClient();
const notifications = createNotificationRepository(client, environment.NOTIFICATIONS_TABLE);

/** GET /notifications/{notificationId}: 200 with the notification. */
export const handler = endpoint(
  'get-notification',
  tokenAuthentication(client, environment),
  (request) => pathParameter(request, 'notificationId'),
  async (id, { tenant }) => {
    const found = await notifications.get({ tenant, id });
    if (!found) throw notFound('The notification');
    return ok(found.record);
  },
);
