import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { located } from '../shared/adapters/http-api/answer.ts';
import { endpoint } from '../shared/adapters/http-api/endpoint.ts';
import { jsonBody, ownAddress, pathParameter, valid } from '../shared/adapters/http-api/request.ts';
import { createNotificationRepository } from '../shared/adapters/notification-repository.ts';
import { createNotificationUpdate } from '../shared/adapters/notification-update.ts';
import { tokenAuthentication } from '../shared/adapters/token-repository.ts';
import { parseChanges } from '../shared/contracts/notification.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['update-notification'].parse(process.env);
const client = createDocumentClient();
const update = createNotificationUpdate(createNotificationRepository(client, environment.NOTIFICATIONS_TABLE));

/** PUT /notifications/{notificationId}: 204 with the notification's address. */
export const handler = endpoint(
  'update-notification',
  tokenAuthentication(client, environment),
  (request) => ({
    id: pathParameter(request, 'notificationId'),
    changes: valid(parseChanges(jsonBody(request))),
    address: ownAddress(request, environment.LINK_SCHEME),
  }),
  async ({ id, changes, address }, { tenant }) => {
    await update({ tenant, id }, changes);
    return located(204, address);
  },
);
