import { tenantId } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import { type DeliveryKey, deliveryKey, deliveryPartition } from './delivery-key.ts';

export const emailEventKinds = ['Delivery', 'DeliveryDelay', 'Bounce', 'Complaint', 'Reject'] as const;

/** Message tags: only IDs, in the characters that SES allows (A-Z, a-z, 0-9, `_`, `-`; at most 256). */
export type EmailTags = { notification: string; tenant: string; event: string };

export const tenantTag = (tenant: string): string => Buffer.from(tenant).toString('base64url');

/** Returns undefined if `tenantTag` did not create it. */
export const tenantOfTag = (tag: string): string | undefined =>
  tenantId.safeParse(Buffer.from(tag, 'base64url').toString()).data;

export const emailTags = (event: Pick<EventHeader, 'tenant_id' | 'event_id'>, notificationId: string): EmailTags => ({
  notification: notificationId,
  tenant: tenantTag(event.tenant_id),
  event: deliveryKey(event, notificationId).sk.replace('#', '-'),
});

/** Returns undefined if `emailTags` did not create the tags. */
export const deliveryKeyFromTags = ({
  notification = '',
  tenant: encoded = '',
  event = '',
}: { [Tag in keyof EmailTags]?: string | undefined }): DeliveryKey | undefined => {
  const tenant = tenantOfTag(encoded);
  const isValid = /^nt[A-Za-z0-9]+$/.test(notification) && /^\d{13}-[0-9a-f]{64}$/.test(event);
  return isValid && tenant !== undefined
    ? { pk: deliveryPartition({ tenant, id: notification }), sk: event.replace('-', '#') }
    : undefined;
};
