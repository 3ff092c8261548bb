import { monotonicFactory } from 'ulid';

const ulid = monotonicFactory();

/** The id of the default notification, which every tenant has (API.md#default-notification). */
export const DEFAULT_NOTIFICATION_ID = 'ntTechnicalContactsEmail';

/**
 * Returns a new id: `nt` and a ULID, so ids sort by creation. ULIDs start with a digit, so the id of the default
 * notification sorts last.
 */
export const newNotificationId = (): string => `nt${ulid()}`;

/** Returns whether a stored notification can have this id. */
export const isStoredNotificationId = (id: string): boolean => /^nt[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id);
