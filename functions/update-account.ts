import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { jsonBody, valid } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';
import { parseAccountChanges } from '../shared/contracts/account.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('update-account');
const client = createDocumentClient();
const audits = createAuditLog(client, environment);
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);

/** PUT /account: 204. */
export const handler = endpoint(
  'update-account',
  tokenAuthentication(client, environment),
  (request) => valid(parseAccountChanges(jsonBody(request))),
  async (changes, caller) => {
    await accounts.update(caller.tenant, changes, audits.by(caller));
    return noContent;
  },
);
