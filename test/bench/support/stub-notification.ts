import { type NotificationTypeId, notificationTypeIds } from '../../../shared/contracts/notification-types.ts';

/** The tenant whose webhooks of the AWS stub have 16 KB of secret header values, and fail with a long text. */
export const FAILING_TENANT = 'failing';

/** Returns the ID of a notification in the AWS stub: its last digit is the index of its type. */
export const stubNotificationId = (type: NotificationTypeId, number = 0): string =>
  `nt01M7W36KGQDJ8S2D76FC${String(number).padStart(5, '0')}${notificationTypeIds.indexOf(type)}`;
