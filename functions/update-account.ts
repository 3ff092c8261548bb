import { createAccountAdministration } from '../shared/adapters/accounts/account-administration.ts';
import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { assertExistingFallbacks } from '../shared/api/account-reader.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { jsonBody, validBody } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';
import { accountChangesBody } from '../shared/contracts/account.ts';

const { environment, client, endpoint, audits } = auditedFunction('update-account');
const accounts = createAccountAdministration(client, environment.ACCOUNTS_TABLE);
const notifications = createNotificationReader(client, environment.NOTIFICATIONS_TABLE);

/** PUT /account: 204. */
export const handler = endpoint(
  (request) => validBody(request, jsonBody(request), accountChangesBody),
  async (changes, caller) => {
    await assertExistingFallbacks(notifications, accounts, caller.tenant, changes.escalation_notifications);
    await accounts.update(caller.tenant, changes, audits.by(caller));
    return noContent;
  },
);
