import { createAuditLog } from '../shared/adapters/audits/audit-log.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createTokenRepository } from '../shared/adapters/tokens/token-repository.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { pathParameter } from '../shared/api/request.ts';
import { noContent } from '../shared/api/response.ts';
import { lastAdminToken, notFound } from '../shared/domain/errors.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('revoke-token');
const client = createDocumentClient();
const audits = createAuditLog(client, environment);
const tokens = createTokenRepository(client, environment.TOKENS_TABLE);

/** DELETE /tokens/{tokenId}: 204; 403 for the last unexpired token of role admin. */
export const handler = endpoint(
  'revoke-token',
  tokenAuthentication(client, environment),
  (request) => pathParameter(request, 'tokenId'),
  async (id, caller) => {
    const result = await tokens.revoke(caller.tenant, id, audits.by(caller));
    if (result === 'unknown') throw notFound('The token');
    if (result === 'last_admin') throw lastAdminToken();
    return noContent;
  },
);
