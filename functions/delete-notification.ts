import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { pathId } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';
import { notFound } from '../shared/domain/errors.ts';
import { assertChangeable } from '../shared/domain/notification-changes.ts';

const { environment, client, endpoint, audits } = auditedFunction('delete-notification');
const notifications = createNotificationRepository(client, environment.NOTIFICATIONS_TABLE);

/** DELETE /notifications/{id}: 204; 403 for the default notification. */
export const handler = endpoint(pathId, async (id, caller) => {
  assertChangeable(id);
  if (!(await notifications.delete({ tenant: caller.tenant, id }, audits.by(caller))))
    throw notFound('The notification');
  return noContent;
});
