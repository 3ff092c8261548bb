import type { NotificationAttributes } from '../../shared/contracts/notification.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';

/** A valid destination of each type, with the required fields only. */
export const validDetails = {
  email: { address: 'ops@example.com' },
  webhook: { url: 'https://hooks.example.com/alerts' },
  incidentpager: { service_key: 'abcDEF123' },
  sms: { phone_number: '+12025550123' },
  incidentrouter: { api_key: '9b2f6c1e-4d3a-4e5f-8a7b-1c2d3e4f5a6b' },
  atomfeed: { category: 'databases' },
  technicalContactsEmail: {},
  managed: {},
} as const satisfies Record<NotificationTypeId, Record<string, string>>;

/** A valid destination of each type. Webhooks and pagers lead to paths of this URL. */
export const destinationsAt = (url: string): Record<NotificationTypeId, Record<string, string>> => ({
  ...validDetails,
  webhook: { url: `${url}/webhook` },
  incidentpager: { ...validDetails.incidentpager, service_endpoint: `${url}/pager` },
});

/** Returns the attributes of a webhook notification, with changes. */
export const webhookNotification = (changes: Partial<NotificationAttributes> = {}): NotificationAttributes => ({
  label: 'Night shift',
  type: 'webhook',
  details: validDetails.webhook,
  ...changes,
});

/** Returns this many entries, `key0`, `key1` and so on, with the same value. */
export const entries = (count: number, value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, value]));
