import { monotonicFactory } from 'ulid';

const ulid = monotonicFactory();

/** The id of the default notification, which every tenant has (interface, "What the service does" 6). */
export const DEFAULT_NOTIFICATION_ID = 'ntTechnicalContactsEmail';

/**
 * `nt` and a ULID, so that sorting by id is sorting by creation. A ULID starts with a digit, hence every id that we
 * make sorts before the default notification's.
 */
export const newNotificationId = (): string => `nt${ulid()}`;

/** True for what can be the id of a stored notification; nothing else is worth a read. */
export const isStoredNotificationId = (id: string): boolean => /^nt[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id);
