import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { ok } from '../shared/adapters/http-api/answer.ts';
import { endpoint } from '../shared/adapters/http-api/endpoint.ts';
import { pathParameter } from '../shared/adapters/http-api/request.ts';
import { tokenAuthentication } from '../shared/adapters/token-repository.ts';
import { isNotificationTypeId, notificationTypeRecord } from '../shared/contracts/notification-types.ts';
import { notFound } from '../shared/domain/errors.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['get-notification-type'].parse(process.env);

/** GET /notification_types/{notificationTypeId}: 200 with the type. */
export const handler = endpoint(
  'get-notification-type',
  tokenAuthentication(createDocumentClient(), environment),
  (request) => pathParameter(request, 'notificationTypeId'),
  async (id) => {
    if (!isNotificationTypeId(id)) throw notFound('The notification type');
    return ok(notificationTypeRecord(id));
  },
);
