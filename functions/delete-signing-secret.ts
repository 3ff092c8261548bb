import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { createSigningSecretChanges } from '../shared/api/notification-change.ts';
import { pathParameter } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';

const { environment, client, endpoint } = apiFunction('delete-signing-secret');
const audits = createAuditLog(client, environment);
const secrets = createSigningSecretChanges(createNotificationRepository(client, environment.NOTIFICATIONS_TABLE));

/** DELETE /notifications/{notificationId}/signing-secret: 204, also if the webhook has no secret of its own. */
export const handler = endpoint(
  (request) => pathParameter(request, 'notificationId'),
  async (id, caller) => {
    await secrets.delete({ tenant: caller.tenant, id }, audits.by(caller));
    return noContent;
  },
);
