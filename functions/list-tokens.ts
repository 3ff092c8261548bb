import { createTokenRepository } from '../shared/adapters/tokens/token-repository.ts';
import { tokenPage } from '../shared/api/account-reader.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { pageRequest } from '../shared/api/request.ts';
import { isTokenId } from '../shared/domain/token.ts';

const { environment, client, endpoint } = apiFunction('list-tokens');
const tokens = createTokenRepository(client, environment.TOKENS_TABLE);

/** GET /tokens: 200 with a page of the tenant's unexpired tokens, without the tokens themselves. */
export const handler = endpoint(
  (request) => pageRequest(request, environment.LINK_SCHEME, isTokenId),
  async ({ page, respond }, { tenant }) => respond(await tokenPage(await tokens.list(tenant), page, Date.now())),
);
