import type { AccountRepository } from '../adapters/accounts/account-repository.ts';
import { ConcurrentChangeError } from '../adapters/dynamodb/versioned-item.ts';
import type { AccountChanges } from '../contracts/account.ts';
import { unavailable } from '../domain/errors.ts';

/** The maximum number of attempts to update an account that other requests change concurrently. */
const MAX_ATTEMPTS = 10;

/**
 * Creates the update of an account. All given attributes change in one write, and concurrent updates are applied one
 * after the other (docs/decisions/storage.md#account-endpoint).
 *
 * @throws ServiceError 503 if every attempt conflicts with another change
 * @throws UnconfirmedChangeError
 */
export const createAccountUpdate =
  (accounts: Pick<AccountRepository, 'update'>) =>
  async (tenant: string, changes: AccountChanges): Promise<void> => {
    if (Object.keys(changes).length === 0) return;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        return await accounts.update(tenant, changes);
      } catch (error) {
        if (!(error instanceof ConcurrentChangeError)) throw error;
      }
    }
    throw unavailable();
  };
