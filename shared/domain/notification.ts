import type { Destination } from '../contracts/notification.ts';
import type { NotificationRecord } from '../contracts/responses/notifications.ts';
import type { SigningSecrets } from '../contracts/webhook-request.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from './notification-id.ts';
import type { WithheldPeriod } from './withheld.ts';

export type NotificationKey = { tenant: string; id: string };

/** What a delivery requires of a notification. `details` has only the fields of the type. */
export type DeliveryTarget = { id: string } & Pick<Destination, 'type' | 'details'> & {
    /** JSON, for `parseStoredRequest`. */
    webhookRequest?: string | undefined;
    ordered?: true | undefined;
    mutes?: readonly WithheldPeriod[] | undefined;
    signingSecrets?: SigningSecrets | undefined;
    /** For lists of deliveries. Absent of a notification that is not stored. */
    label?: string | undefined;
  };

/** Every tenant has it (docs/api.md#default-notification). It is not stored. */
export const defaultNotification: NotificationRecord = {
  id: DEFAULT_NOTIFICATION_ID,
  label: 'Email All Technical Contacts',
  type: 'technicalContactsEmail',
  details: {},
};

/** The target of escalations to the operators. It is neither stored nor listed. */
export const operatorsNotification: DeliveryTarget = { id: OPERATORS_NOTIFICATION_ID, type: 'managed', details: {} };
