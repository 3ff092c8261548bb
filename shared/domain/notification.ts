import type { Destination, NotificationAttributes, NotificationRecord } from '../contracts/notification.ts';
import { fieldsOf } from '../contracts/notification-types.ts';
import { DEFAULT_NOTIFICATION_ID } from './notification-id.ts';

/**
 * What delivering needs of a notification: `details` holds the fields of the type alone, never the client's own entries,
 * so that it is small whatever the client keeps in its notification.
 */
export type NotificationHead = { id: string } & Destination;

/** The notification that every tenant has without making it (interface, "What the service does" 6). */
export const defaultNotification: NotificationRecord = {
  id: DEFAULT_NOTIFICATION_ID,
  label: 'Email All Technical Contacts',
  type: 'technicalContactsEmail',
  details: {},
};

/** The entries of `details` that are fields of the type. */
export const ownFields = ({ type, details }: Destination): Record<string, string> =>
  Object.fromEntries(Object.entries(details).filter(([key]) => Object.hasOwn(fieldsOf(type), key)));

/** A partial update (design 2, PUT): absent attributes keep their value, `details` and `metadata` are replaced whole. */
export const merged = (
  { label, type, details, metadata }: NotificationAttributes,
  changes: Partial<Record<keyof NotificationAttributes, unknown>>,
): Partial<Record<keyof NotificationAttributes, unknown>> => ({ label, type, details, metadata, ...changes });
