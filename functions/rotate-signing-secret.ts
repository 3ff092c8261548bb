import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { ok } from '../shared/api/response.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('rotate-signing-secret');
const client = createDocumentClient();
const audits = createAuditLog(client, environment);
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);

/** POST /account/rotate-signing-secret: 200 with the new secret, the same for concurrent requests. */
export const handler = endpoint(
  'rotate-signing-secret',
  tokenAuthentication(client, environment),
  () => undefined,
  async (_, caller) => {
    const secret = await accounts.rotateSecret(caller.tenant, audits.by(caller), { canJoin: true });
    return ok({ webhook_signing_secret: secret });
  },
);
