import { createMonotonicUlids, isPrefixedUlid } from './ulid.ts';

/** Every tenant has it (docs/api.md#default-notification). */
export const DEFAULT_NOTIFICATION_ID = 'ntTechnicalContactsEmail';

/** The target of escalations (docs/decisions/notices.md#nobody-reached). Notification plans cannot use it. */
export const OPERATORS_NOTIFICATION_ID = 'ntOperators';

/** The IDs of a function sort by creation. ULIDs start with a digit, so the default notification sorts last. */
export const createNotificationIds = (): (() => string) => {
  const next = createMonotonicUlids();
  return () => `nt${next()}`;
};

export const newNotificationId = createNotificationIds();

/** Other IDs could contain a `#` and so name another partition. */
export const isNotificationId = (id: string): boolean => id === DEFAULT_NOTIFICATION_ID || isStoredNotificationId(id);

export const isStoredNotificationId = (id: string): boolean => isPrefixedUlid('nt', id);
