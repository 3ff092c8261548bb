import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import {
  createChangedResponse,
  createNotificationUpdate,
  returnPreference,
} from '../shared/api/notification-change.ts';
import { notificationBody, pathId, requestUrl, validBody } from '../shared/api/request.ts';
import { changesBody } from '../shared/contracts/notification.ts';
import { urlRule } from '../shared/domain/egress.ts';

const { environment, client, endpoint, audits } = auditedFunction('update-notification');
const notifications = createNotificationRepository(client, environment.NOTIFICATIONS_TABLE);
const update = createNotificationUpdate(notifications, urlRule(environment.EGRESS_ALLOW));
const changedResponse = createChangedResponse(notifications);

/** PUT /notifications/{id}: 204 with the URL of the notification, or 200 with the notification. */
export const handler = endpoint(
  (request) => ({
    id: pathId(request),
    changes: validBody(request, notificationBody(request), changesBody),
    url: requestUrl(request, environment.LINK_SCHEME),
    preference: returnPreference(request),
  }),
  async ({ id, changes, url, preference }, caller) => {
    const key = { tenant: caller.tenant, id };
    await update(key, changes, audits.by(caller));
    return changedResponse(204, key, url, preference);
  },
);
