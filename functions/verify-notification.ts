import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { createCodeRequests } from '../shared/api/code-requests.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { jsonBody, pathParameter, validBody } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { createVerification, whenVerifying } from '../shared/api/verification.ts';
import { verificationBody } from '../shared/contracts/verification.ts';
import { noRecipient, notFound } from '../shared/domain/errors.ts';
import { recipientOf } from '../shared/domain/recipient.ts';

const { environment, client, endpoint } = apiFunction('verify-notification');
const audits = createAuditLog(client, environment);
const notifications = createTargetReader(client, environment.NOTIFICATIONS_TABLE);
const codes = createCodeRequests(client, environment);

/** POST /notifications/{notificationId}/verify: 200 with whether the recipient is verified. */
export const handler = endpoint(
  (request) => ({
    codes: whenVerifying(codes),
    id: pathParameter(request, 'notificationId'),
    verification: validBody(request, jsonBody(request), verificationBody),
  }),
  async ({ codes, id, verification }, caller) => {
    const key = { tenant: caller.tenant, id };
    const target = await notifications.targets([key]).find(key);
    if (!target) throw notFound('The notification');
    const recipient = recipientOf(target);
    if (!recipient) throw noRecipient();
    if (!target.needsVerification) return ok({ verified: true });
    const change = { action: 'verify-notification', target_id: id } as const;
    return ok(
      await createVerification(codes)(caller.tenant, recipient, verification, {
        entry: () => audits.by(caller)(change),
        record: () => audits.record(caller, change),
      }),
    );
  },
);
