import { tenantId } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import { type DeliveryKey, deliveryKey, deliveryPartition } from './delivery-key.ts';

/** The SES events about accepted emails. */
export const emailEventKinds = ['Delivery', 'DeliveryDelay', 'Bounce', 'Complaint', 'Reject'] as const;

/** Message tags of an email: only IDs, in the characters that SES allows (A-Z, a-z, 0-9, `_`, `-`; at most 256). */
export type EmailTags = { notification: string; tenant: string; event: string };

/** Returns the tag of a tenant. */
export const tenantTag = (tenant: string): string => Buffer.from(tenant).toString('base64url');

/** Returns the tenant of a tag, or undefined if `tenantTag` did not create it. */
export const tenantOfTag = (tag: string): string | undefined =>
  tenantId.safeParse(Buffer.from(tag, 'base64url').toString()).data;

/** Returns the tags that identify the delivery of an email in SES events. */
export const emailTags = (event: Pick<EventHeader, 'tenant_id' | 'event_id'>, notificationId: string): EmailTags => ({
  notification: notificationId,
  tenant: tenantTag(event.tenant_id),
  event: deliveryKey(event, notificationId).sk.replace('#', '-'),
});

/** Returns the key of the delivery record, or undefined if `emailTags` did not create the tags. */
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
