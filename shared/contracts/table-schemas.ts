/** The keys of each table, from which the stack makes it and the repositories reach it. `ttl` holds epoch seconds. */
export const tableSchemas = {
  /** Targets and chunks of notifications, and what belongs to them: see `notification-items.ts`. */
  notifications: { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' },
  /** Accounts of tenants and their daily counters: see `account-repository.ts`. */
  accounts: { partitionKey: 'pk', sortKey: undefined, ttl: 'ttl' },
  /** Tokens by their hash: see `token-repository.ts`. */
  tokens: { partitionKey: 'pk', sortKey: undefined, ttl: 'ttl' },
  /** One record for each delivery: see `delivery-repository.ts`. */
  deliveries: { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' },
} as const;
