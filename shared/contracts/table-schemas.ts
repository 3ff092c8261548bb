/** The key attributes of each table (docs/decisions/storage.md#tables). `ttl` is in epoch seconds. */
export const tableSchemas = {
  /** Notifications: see `notification-items.ts`. */
  notifications: { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' },
  /** Accounts of tenants: see `account-repository.ts`; their daily counters: see `counters.ts`. */
  accounts: { partitionKey: 'pk', sortKey: undefined, ttl: 'ttl' },
  /** Tokens by their hash: see `token-repository.ts`. */
  tokens: { partitionKey: 'pk', sortKey: undefined, ttl: 'ttl' },
  /**
   * Delivery records: see `delivery-repository.ts`; bodies of failed deliveries: see `failed-messages.ts`; lists of
   * destinations: see `destination-list.ts`; what failed: see `notification-failures.ts`.
   */
  deliveries: { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' },
  /** Audit entries: see `audit-log.ts`. */
  audits: { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' },
} as const;
