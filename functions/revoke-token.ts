import { createTokenRepository } from '../shared/adapters/tokens/token-repository.ts';
import { auditedFunction } from '../shared/api/endpoint.ts';
import { pathId, query, timeParameters } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';

const { environment, client, endpoint, audits } = auditedFunction('revoke-token', { cachesTokens: false });
const tokens = createTokenRepository(client, environment.TOKENS_TABLE);

/** DELETE /tokens/{id}: 204; 403 if no unexpired token of role admin would remain. */
export const handler = endpoint(
  (request) => ({
    id: pathId(request),
    issuedSinceMs: timeParameters(query(request), ['issued_since']).issued_since,
  }),
  async (revocation, caller) => {
    const { tenant, token } = caller;
    await tokens.revoke({ ...revocation, tenant, revoker: token.id }, audits.by(caller));
    return noContent;
  },
);
