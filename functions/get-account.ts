import { createAccountAdministration } from '../shared/adapters/accounts/account-administration.ts';
import { createEmailStops } from '../shared/adapters/accounts/email-stops.ts';
import { createCounters } from '../shared/adapters/dynamodb/counters.ts';
import { readNotificationCount } from '../shared/adapters/notifications/notification-counter.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { createTokenRepository } from '../shared/adapters/tokens/token-repository.ts';
import { createAccountReader } from '../shared/api/account-reader.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { ok } from '../shared/api/response.ts';

const { environment, client, endpoint } = apiFunction('get-account');
const readAccount = createAccountReader(
  {
    accounts: createAccountAdministration(client, environment.ACCOUNTS_TABLE),
    counters: createCounters(client, environment.ACCOUNTS_TABLE),
    stops: createEmailStops(client, environment.ACCOUNTS_TABLE),
    notifications: createTargetReader(client, environment.NOTIFICATIONS_TABLE),
    tokens: createTokenRepository(client, environment.TOKENS_TABLE),
    countNotifications: (tenant) => readNotificationCount(client, environment.NOTIFICATIONS_TABLE, tenant),
  },
  environment.TENANT_LIMITS,
);

/** GET /account: 200 with the account of the tenant, its limits and their usage. */
export const handler = endpoint(
  () => undefined,
  async (_, caller) => ok(await readAccount(caller)),
);
