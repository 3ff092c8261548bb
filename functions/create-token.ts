import { createTokenRepository } from '../shared/adapters/tokens/token-repository.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { jsonBody, validBody } from '../shared/api/request.ts';
import { created } from '../shared/api/response.ts';
import type { CreatedToken } from '../shared/contracts/responses/tokens-and-audits.ts';
import { newTokenBody } from '../shared/contracts/token.ts';
import { DAY_SECONDS } from '../shared/domain/time.ts';

const { environment, client, endpoint, audits } = auditedFunction('create-token', { cachesTokens: false });
const tokens = createTokenRepository(client, environment.TOKENS_TABLE);

/** POST /tokens: 201 with the new token, which is shown only once; 403 if the tenant has reached the limit. */
export const handler = endpoint(
  (request) => validBody(request, jsonBody(request), newTokenBody),
  async ({ label, role, days }, caller) => {
    const grant = { tenant: caller.tenant, role, label, expiresInSeconds: days * DAY_SECONDS, issuer: caller.token.id };
    const { id, token, expires_at_ms } = await tokens.issue(grant, audits.by(caller));
    return created({ id, token, role, label, expires_at: expires_at_ms } satisfies CreatedToken);
  },
);
