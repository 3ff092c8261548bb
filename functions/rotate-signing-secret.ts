import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { ok } from '../shared/api/response.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('rotate-signing-secret');
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);

/** POST /account/rotate-signing-secret: 200 with the new secret, the same for concurrent requests. */
export const handler = endpoint(
  'rotate-signing-secret',
  tokenAuthentication(client, environment),
  () => undefined,
  async (_, { tenant }) => ok({ webhook_signing_secret: await accounts.rotateSecret(tenant, { canJoin: true }) }),
);
