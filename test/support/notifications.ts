import type { NotificationAttributes } from '../../shared/contracts/notification.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';

/** Details that are valid for each type, required fields only. */
export const goodDetails = {
  email: { address: 'ops@example.com' },
  webhook: { url: 'https://hooks.example.com/alerts' },
  incidentpager: { service_key: 'abcDEF123' },
  sms: { phone_number: '+12025550123' },
  incidentrouter: { api_key: '9b2f6c1e-4d3a-4e5f-8a7b-1c2d3e4f5a6b' },
  atomfeed: { category: 'databases' },
  technicalContactsEmail: {},
  managed: {},
} as const satisfies Record<NotificationTypeId, Record<string, string>>;

/** The attributes of a webhook notification, with changes. */
export const webhookNotification = (changes: Partial<NotificationAttributes> = {}): NotificationAttributes => ({
  label: 'Night shift',
  type: 'webhook',
  details: goodDetails.webhook,
  ...changes,
});

/** Entries by number: `count` of them, each with this value. */
export const entries = (count: number, value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, value]));
