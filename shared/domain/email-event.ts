import { type AlarmEvent, tenantId } from '../contracts/alarm-event.ts';
import { type DeliveryKey, deliveryKey, deliveryPartition } from './delivery-key.ts';

/** What SES tells us that became of a mail after it took it. */
export const emailEventKinds = ['Bounce', 'Complaint', 'Reject'] as const;

/** What became of a mail. */
export type EmailEventKind = (typeof emailEventKinds)[number];

/** A mail's tags: ids alone, in the letters that SES allows in a tag (A-Z, a-z, 0-9, `_`, `-`; at most 256). */
export type EmailTags = { notification: string; tenant: string; event: string };

/** The tags by which a mail's delivery is found again when SES tells that it bounced. */
export const emailTags = (event: AlarmEvent, notificationId: string): EmailTags => ({
  notification: notificationId,
  tenant: Buffer.from(event.tenant_id).toString('base64url'),
  event: deliveryKey(event, notificationId).sk.replace('#', '-'),
});

/** The place of the record that a mail's tags name; undefined where they are not of our making. */
export const deliveryKeyFromTags = ({
  notification = '',
  tenant: encoded = '',
  event = '',
}: { [Tag in keyof EmailTags]?: string | undefined }): DeliveryKey | undefined => {
  const tenant = Buffer.from(encoded, 'base64url').toString();
  const isOurs =
    /^nt[A-Za-z0-9]+$/.test(notification) && tenantId.safeParse(tenant).success && /^\d{13}-[0-9a-f]{64}$/.test(event);
  return isOurs
    ? { pk: deliveryPartition({ tenant, notificationId: notification }), sk: event.replace('-', '#') }
    : undefined;
};
