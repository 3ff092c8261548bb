import { createMonotonicUlids, isPrefixedUlid } from './ulid.ts';

/** The ID of the default notification, which every tenant has (docs/api.md#default-notification). */
export const DEFAULT_NOTIFICATION_ID = 'ntTechnicalContactsEmail';

/**
 * The ID of the operators' notification of type `managed`, to which escalations are delivered
 * (docs/decisions/notices.md#nobody-reached). It is neither stored nor listed, and notification plans cannot use it.
 */
export const OPERATORS_NOTIFICATION_ID = 'ntOperators';

/**
 * Creates a function that returns new IDs: `nt` and a ULID, so its IDs sort by creation. ULIDs start with a digit, so the
 * ID of the default notification sorts last.
 */
export const createNotificationIds = (): (() => string) => {
  const next = createMonotonicUlids();
  return () => `nt${next()}`;
};

/** Returns a new ID, for the command line and tests. */
export const newNotificationId = createNotificationIds();

/** Returns whether a notification can have this ID. Other IDs could contain a `#` and so name another partition. */
export const isNotificationId = (id: string): boolean => id === DEFAULT_NOTIFICATION_ID || isStoredNotificationId(id);

/** Returns whether a stored notification can have this ID. */
export const isStoredNotificationId = (id: string): boolean => isPrefixedUlid('nt', id);
