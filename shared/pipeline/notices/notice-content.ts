import type { NotificationRecord } from '../../contracts/responses/notifications.ts';
import { plainLine, truncate } from '../../domain/alert-text.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { failureReasonOf } from '../../domain/delivery-status.ts';
import { failureText } from '../../domain/failure-text.ts';
import { MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';

/** A notification as notices name it, or undefined if it was deleted or cannot be read. */
export type Notification = Pick<NotificationRecord, 'label' | 'type'> | undefined;

/** A delivery that has not arrived, and what notices say about it. */
export type UnreachedDelivery = {
  notificationId: string;
  notification: Notification;
  /** Undefined if the notification does not exist, or cannot be read, so that the delivery was never attempted. */
  record: DeliveryRecord | undefined;
  /** True if there is no record because the notification cannot be read. */
  isUnreadable?: boolean;
};

/** Maximum length of a label, in code points. Labels may have 255; email clients truncate subjects. */
export const MAX_LABEL_LENGTH = 80;

/**
 * Returns the label of a notification in quotation marks, or its ID if it was deleted or cannot be read, or if the
 * label has no visible characters.
 */
export const named = (id: string, notification: Notification): string => {
  const label = plainLine(notification?.label ?? '');
  return label === '' ? id : `"${truncate(label, MAX_LABEL_LENGTH)}"`;
};

/** Returns the text of the last failure of a delivery. */
export const lastFailure = (record: DeliveryRecord): string =>
  failureText(failureReasonOf(record), record.status === 'bounced' ? undefined : record.attempts.at(-1)?.status);

/** Returns the number of attempts in the round and the maximum: `4 of 9`. */
export const attemptsSoFar = ({ attempt_count }: DeliveryRecord): string => `${attempt_count} of ${MAX_ATTEMPTS}`;

/** Returns when the next attempt is due, in ms since the epoch; undefined if none is. */
export const nextAttemptMs = ({ status, next_attempt_at_ms }: DeliveryRecord): number | undefined =>
  status === 'pending' ? next_attempt_at_ms : undefined;

/**
 * The maximum number of notices per tenant and UTC day: emails, messages to the operators, and SMS. They bound the cost
 * if notices are repeated, and are separate from the limits of alerts, which may be 0.
 */
export const MAX_NOTICE_MESSAGES_PER_DAY = { email: 10_000, managed: 1_000, sms: 100 } as const;
