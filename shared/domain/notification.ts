import type { Destination, NotificationAttributes, NotificationRecord } from '../contracts/notification.ts';
import { fieldsOf } from '../contracts/notification-types.ts';
import { ServiceError } from './errors.ts';
import { DEFAULT_NOTIFICATION_ID } from './notification-id.ts';

/** Identifies a notification: its tenant is part of every key. */
export type NotificationKey = { tenant: string; id: string };

/**
 * What delivering needs of a notification: `details` holds the fields of the type alone, never the client's own entries,
 * so that it is small whatever the client keeps in its notification.
 */
export type DeliveryTarget = { id: string } & Destination;

/** The notification that every tenant has without making it (interface, "What the service does" 6). */
export const defaultNotification: NotificationRecord = {
  id: DEFAULT_NOTIFICATION_ID,
  label: 'Email All Technical Contacts',
  type: 'technicalContactsEmail',
  details: {},
};

/** The entries of `details` that are fields of the type. */
export const typeFields = ({ type, details }: Destination): Record<string, string> =>
  Object.fromEntries(Object.entries(details).filter(([key]) => Object.hasOwn(fieldsOf(type), key)));

/** What a client changes: attributes that it names, not yet validated, since only the whole can be. */
export type Changes = Partial<Record<keyof NotificationAttributes, unknown>>;

/** A partial update (design 2, PUT): absent attributes keep their value, `details` and `metadata` are replaced whole. */
export const withChanges = ({ label, type, details, metadata }: NotificationAttributes, changes: Changes): Changes => ({
  label,
  type,
  details,
  metadata,
  ...changes,
});

/** The default notification is every tenant's and nobody's to change. @throws ServiceError 403 */
export const assertChangeable = (id: string): void => {
  if (id === DEFAULT_NOTIFICATION_ID) {
    throw new ServiceError('forbiddenError', 'The default notification cannot be withChanges.', {
      details: `id: ${DEFAULT_NOTIFICATION_ID} belongs to every account and can be neither updated nor deleted`,
    });
  }
};
