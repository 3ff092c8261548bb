import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { createNotificationUpdate } from '../shared/api/notification-update.ts';
import { notificationBody, pathParameter, requestUrl, valid } from '../shared/api/request.ts';
import { locationResponse } from '../shared/api/response.ts';
import { parseChanges } from '../shared/contracts/notification.ts';

const { environment, client, endpoint } = apiFunction('update-notification');
const audits = createAuditLog(client, environment);
const update = createNotificationUpdate(createNotificationRepository(client, environment.NOTIFICATIONS_TABLE));

/** PUT /notifications/{notificationId}: 204 with the URL of the notification. */
export const handler = endpoint(
  (request) => ({
    id: pathParameter(request, 'notificationId'),
    changes: valid(parseChanges(notificationBody(request))),
    url: requestUrl(request, environment.LINK_SCHEME),
  }),
  async ({ id, changes, url }, caller) => {
    await update({ tenant: caller.tenant, id }, changes, audits.by(caller));
    return locationResponse(204, url);
  },
);
