import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { createChangedResponse, returnPreference } from '../shared/api/changed-notification.ts';
import { createCodeRequests } from '../shared/api/code-requests.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { idempotentRequest, notificationBody, requestUrl, validBody } from '../shared/api/request.ts';
import { assertFitsResponse } from '../shared/api/response.ts';
import { createVerifiedView } from '../shared/api/verified-view.ts';
import { newNotificationBody } from '../shared/contracts/notification.ts';
import { recipientOf } from '../shared/domain/recipient.ts';

const { environment, client, endpoint } = apiFunction('create-notification');
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const audits = createAuditLog(client, environment);
const notifications = createNotificationRepository(client, environment.NOTIFICATIONS_TABLE);
const changedResponse = createChangedResponse(notifications, createVerifiedView(client, environment.RECIPIENTS_TABLE));
const codes = createCodeRequests(client, environment);

const limitOf = accounts.currentLimit('notificationsPerTenant', environment.TENANT_LIMITS);

/**
 * POST /notifications: 201 with the URL of the new notification, or of that of the first request with its
 * `Idempotency-Key`; 403 if the tenant has reached its quota; 422 if the first request had another body.
 */
export const handler = endpoint(
  (request) => {
    const attributes = validBody(request, notificationBody(request), newNotificationBody);
    assertFitsResponse(attributes);
    return {
      attributes,
      collectionUrl: requestUrl(request, environment.LINK_SCHEME),
      idempotent: idempotentRequest(request),
      preference: returnPreference(request),
    };
  },
  async ({ attributes, collectionUrl, idempotent, preference }, caller, timeLeft) => {
    const { tenant } = caller;
    const limit = () => limitOf(tenant);
    const recipient = codes && recipientOf(attributes);
    const unshown = recipient && ({ needs_verification: true } as const);
    const id = await notifications.create(tenant, attributes, audits.by(caller), limit, idempotent, unshown);
    if (recipient) await codes.sendToNew(tenant, [recipient], timeLeft);
    return changedResponse(201, { tenant, id }, `${collectionUrl}/${id}`, preference);
  },
);
