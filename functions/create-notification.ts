import { createAccountAdministration } from '../shared/adapters/accounts/account-administration.ts';
import { createNotificationRepository } from '../shared/adapters/notifications/notification-repository.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { createChangedResponse, returnPreference } from '../shared/api/notification-change.ts';
import { idempotentRequest, notificationBody, requestUrl, validBody } from '../shared/api/request.ts';
import { assertFitsResponse } from '../shared/api/response.ts';
import { newNotificationBody } from '../shared/contracts/notification.ts';
import { urlRule } from '../shared/domain/egress.ts';

const { environment, client, endpoint, audits } = auditedFunction('create-notification');
const accounts = createAccountAdministration(client, environment.ACCOUNTS_TABLE);
const notifications = createNotificationRepository(client, environment.NOTIFICATIONS_TABLE);
const changedResponse = createChangedResponse(notifications);

const contract = newNotificationBody(urlRule(environment.EGRESS_ALLOW));

const limitOf = accounts.currentLimit('notificationsPerTenant', environment.TENANT_LIMITS);

/**
 * POST /notifications: 201 with the URL of the new notification, or of that of the first request with its
 * `Idempotency-Key`; 403 if the tenant has reached its quota; 422 if the first request had another body.
 */
export const handler = endpoint(
  (request) => {
    const attributes = validBody(request, notificationBody(request), contract);
    assertFitsResponse(attributes);
    return {
      attributes,
      collectionUrl: requestUrl(request, environment.LINK_SCHEME),
      idempotent: idempotentRequest(request),
      preference: returnPreference(request),
    };
  },
  async ({ attributes, collectionUrl, idempotent, preference }, caller) => {
    const { tenant } = caller;
    const limit = () => limitOf(tenant);
    const id = await notifications.create({ tenant, attributes, audit: audits.by(caller), limit, request: idempotent });
    return changedResponse(201, { tenant, id }, `${collectionUrl}/${id}`, preference);
  },
);
