import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { readNotificationCount } from '../shared/adapters/notifications/notification-counter.ts';
import { createTokenRepository } from '../shared/adapters/tokens/token-repository.ts';
import { createAccountReader } from '../shared/api/account-reader.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { ok } from '../shared/api/response.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('get-account');
const client = createDocumentClient();
const readAccount = createAccountReader(
  {
    accounts: createAccountRepository(client, environment.ACCOUNTS_TABLE),
    counters: createDailyCounters(client, environment.ACCOUNTS_TABLE),
    tokens: createTokenRepository(client, environment.TOKENS_TABLE),
    countNotifications: (tenant) => readNotificationCount(client, environment.NOTIFICATIONS_TABLE, tenant),
  },
  environment.TENANT_LIMITS,
);

/** GET /account: 200 with the account of the tenant, its limits and their usage. */
export const handler = endpoint(
  'get-account',
  tokenAuthentication(client, environment),
  () => undefined,
  async (_, caller) => ok(await readAccount(caller)),
);
