import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { createCodeRequests } from '../shared/api/code-requests.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { assertExistingFallbacks } from '../shared/api/fallback-notifications.ts';
import { jsonBody, validBody } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';
import { accountChangesBody } from '../shared/contracts/account.ts';

const { environment, client, endpoint } = apiFunction('update-account');
const audits = createAuditLog(client, environment);
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const notifications = createNotificationReader(client, environment.NOTIFICATIONS_TABLE);
const codes = createCodeRequests(client, environment);

/** PUT /account: 204. */
export const handler = endpoint(
  (request) => validBody(request, jsonBody(request), accountChangesBody),
  async (changes, caller, timeLeft) => {
    await assertExistingFallbacks(notifications, accounts, caller.tenant, changes.escalation_notifications);
    const contacts = await accounts.update(caller.tenant, changes, audits.by(caller), codes !== undefined);
    const recipients = contacts.map((address) => ({ type: 'email', address }) as const);
    await codes?.sendToNew(caller.tenant, recipients, timeLeft);
    return noContent;
  },
);
