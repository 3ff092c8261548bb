import type { Destination, NotificationAttributes, NotificationRecord } from '../contracts/notification.ts';
import { fieldsOf } from '../contracts/notification-types.ts';
import { defaultNotificationFixed } from './errors.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from './notification-id.ts';

/** Identifies a notification. */
export type NotificationKey = { tenant: string; id: string };

/**
 * The parts of a notification that a delivery requires. `details` contains only the fields of the type, so the size
 * does not depend on additional entries.
 */
export type DeliveryTarget = { id: string } & Destination;

/** The notification that every tenant has (docs/api.md#default-notification). It is not stored. */
export const defaultNotification: NotificationRecord = {
  id: DEFAULT_NOTIFICATION_ID,
  label: 'Email All Technical Contacts',
  type: 'technicalContactsEmail',
  details: {},
};

/** The target of escalations to the operators. It is neither stored nor listed. */
export const operatorsNotification: DeliveryTarget = { id: OPERATORS_NOTIFICATION_ID, type: 'managed', details: {} };

/** Returns the entries of `details` that are fields of the type. */
export const typeFields = ({ type, details }: Destination): Record<string, string> =>
  Object.fromEntries(Object.entries(details).filter(([key]) => Object.hasOwn(fieldsOf(type), key)));

/** The attributes in an update request. Only the updated notification as a whole is validated. */
export type Changes = Partial<Record<keyof NotificationAttributes, unknown>>;

/**
 * Returns the attributes after an update. Those that the request omits are unchanged
 * (docs/decisions/api.md#partial-updates).
 */
export const withChanges = ({ label, type, details, metadata }: NotificationAttributes, changes: Changes): Changes => ({
  label,
  type,
  details,
  metadata,
  ...changes,
});

/** Rejects changes to the default notification. @throws ServiceError forbiddenError */
export const assertChangeable = (id: string): void => {
  if (id === DEFAULT_NOTIFICATION_ID) throw defaultNotificationFixed(id);
};
