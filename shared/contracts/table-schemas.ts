/** The key attributes of each table (docs/decisions/storage.md#tables). `ttl` is in epoch seconds. */
export const tableSchemas = {
  notifications: { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' },
  /** Also their daily counters (`counters.ts`). */
  accounts: { partitionKey: 'pk', sortKey: undefined, ttl: 'ttl' },
  /** By their hash. */
  tokens: { partitionKey: 'pk', sortKey: undefined, ttl: 'ttl' },
  /** Delivery records, bodies of failed deliveries (`failed-messages.ts`), lists of destinations, what failed. */
  deliveries: { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' },
  audits: { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' },
} as const;
