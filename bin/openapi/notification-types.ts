import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';

/** The `details` of each type in examples. Tests use those of required fields as destinations. */
export const exampleDetails: Readonly<Record<NotificationTypeId, Readonly<Record<string, string>>>> = {
  email: { address: 'oncall@example.com' },
  webhook: { url: 'https://hooks.example.com/alerts' },
  incidentpager: { service_key: '0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e' },
  sms: { phone_number: '+12025550123' },
  incidentrouter: { api_key: '9b2f6c1e-4d3a-4e5f-8a7b-1c2d3e4f5a6b', routing_key: 'database-team' },
  atomfeed: { category: 'databases' },
  technicalContactsEmail: {},
  managed: {},
};
