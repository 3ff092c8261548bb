import type { TokenRepository } from '../adapters/tokens/token-repository.ts';
import { lastAdminToken, notFound } from '../domain/errors.ts';

/**
 * Creates the revocation of a token by an admin.
 *
 * @throws ServiceError 403 for the tenant's last unexpired token of role admin; 404 for an unknown token; 503 if every
 * attempt conflicts with another change of the tenant's tokens
 * @throws UnconfirmedChangeError
 */
export const createTokenRevocation =
  (tokens: Pick<TokenRepository, 'revoke'>) =>
  async (tenant: string, id: string): Promise<void> => {
    const result = await tokens.revoke(tenant, id);
    if (result === 'unknown') throw notFound('The token');
    if (result === 'last_admin') throw lastAdminToken();
  };
