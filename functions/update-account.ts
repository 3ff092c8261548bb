import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { jsonBody, valid } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';
import { parseAccountChanges } from '../shared/contracts/account.ts';

const { environment, client, endpoint } = apiFunction('update-account');
const audits = createAuditLog(client, environment);
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);

/** PUT /account: 204. */
export const handler = endpoint(
  (request) => valid(parseAccountChanges(jsonBody(request))),
  async (changes, caller) => {
    await accounts.update(caller.tenant, changes, audits.by(caller));
    return noContent;
  },
);
