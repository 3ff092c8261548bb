import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { createSigningSecretChanges } from '../shared/api/notification-change.ts';
import { pathId } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';

const { environment, client, endpoint, audits } = auditedFunction('delete-signing-secret');
const secrets = createSigningSecretChanges(createNotificationRepository(client, environment.NOTIFICATIONS_TABLE));

/** DELETE /notifications/{id}/signing-secret: 204, also if the webhook has no secret of its own. */
export const handler = endpoint(pathId, async (id, caller) => {
  await secrets.delete({ tenant: caller.tenant, id }, audits.by(caller));
  return noContent;
});
