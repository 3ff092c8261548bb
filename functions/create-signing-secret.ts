import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { createSigningSecretChanges } from '../shared/api/notification-change.ts';
import { pathId } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import type { OwnSecret } from '../shared/contracts/responses/notifications.ts';

const { environment, client, endpoint, audits } = auditedFunction('create-signing-secret');
const secrets = createSigningSecretChanges(createNotificationRepository(client, environment.NOTIFICATIONS_TABLE));

/** POST /notifications/{id}/signing-secret: 200 with the new secret of the webhook, shown only now. */
export const handler = endpoint(pathId, async (id, caller) => {
  const secret = await secrets.create({ tenant: caller.tenant, id }, audits.by(caller));
  return ok({ secret } satisfies OwnSecret);
});
