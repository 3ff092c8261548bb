import { createAccountAdministration } from '../shared/adapters/accounts/account-administration.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { ok } from '../shared/api/response.ts';
import type { NewSecret } from '../shared/contracts/responses/account.ts';

const { environment, client, endpoint, audits } = auditedFunction('rotate-signing-secret');
const accounts = createAccountAdministration(client, environment.ACCOUNTS_TABLE);

/** POST /account/rotate-signing-secret: 200 with the new secret, the same for concurrent requests. */
export const handler = endpoint(
  () => undefined,
  async (_, caller) => {
    const secret = await accounts.rotateSecret(caller.tenant, audits.by(caller), { canJoin: true });
    return ok({ webhook_signing_secret: secret } satisfies NewSecret);
  },
);
