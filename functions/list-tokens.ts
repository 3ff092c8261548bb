import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createTokenRepository } from '../shared/adapters/tokens/token-repository.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { parsePage } from '../shared/api/paging.ts';
import { query, requestUrl } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { tokenPage } from '../shared/api/token-records.ts';
import { collection } from '../shared/contracts/collection.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('list-tokens');
const client = createDocumentClient();
const tokens = createTokenRepository(client, environment.TOKENS_TABLE);

/** GET /tokens: 200 with a page of the tenant's unexpired tokens, without the tokens themselves. */
export const handler = endpoint(
  'list-tokens',
  tokenAuthentication(client, environment),
  (request) => ({
    page: parsePage(query(request)),
    self: { href: requestUrl(request, environment.LINK_SCHEME), query: query(request) },
  }),
  async ({ page, self }, { tenant }) =>
    ok(collection(await tokenPage(await tokens.list(tenant), page, Date.now()), page, self)),
);
