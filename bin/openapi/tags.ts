/** The tags of the document: one for each resource, and one that marks extensions of the interface. */
export const tags = [
  { name: 'notifications', description: 'Destinations for alerts: create, list, read, update and delete.' },
  { name: 'tests', description: 'Test messages, sent by the same servers as real alerts.' },
  { name: 'notification types', description: 'The types of notifications and the fields that each type needs.' },
  { name: 'deliveries', description: 'What happened to each alert of a notification, and redelivery of what failed.' },
  { name: 'account', description: 'Limits and their usage, technical contacts, webhook token and signing secret.' },
  { name: 'tokens', description: 'API tokens: create, list and revoke.' },
  { name: 'webhooks', description: 'Requests that the service sends to `webhook` notifications.' },
  { name: 'extension', description: 'Operations in addition to those of the interface.' },
] as const;

/** The name of a tag. */
export type TagName = (typeof tags)[number]['name'];
