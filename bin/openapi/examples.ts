import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';

export const BASE_URL = 'https://alerts.example.com';

/** The time of all examples, ms since the epoch: 2026-11-21 21:11:18 UTC. */
export const EXAMPLE_TIME_MS = 1_795_295_478_841;

export const EXAMPLE_REQUEST_ID = '6151409b-62d8-4fa3-a616-a34bad10f0ba';

export const EXAMPLE_ID = 'nt01M7W08F9Z4XGJJRVYEZQFE9R1';

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

/** The `webhook_request` of the examples. */
export const exampleRequest = {
  headers: { authorization: 'Bearer 2d0c5c1e7a' },
  body: { text: '{{alert.emoji}} {{alert.title}}', incident: '{{alert.incident_key}}', metrics: '{{details.metrics}}' },
};

export const exampleSecret = 'whsec_bW9uaXRvcmluZy1ub3RpZmljYXRpb25zLWV4YW1wbGU=';

export const exampleCredentials = {
  webhook_token: 'zdPBWXFYshuXugqSApo0wi0ifLOtpe2IIphS4josALo',
  webhook_signing_secrets: [exampleSecret],
};
