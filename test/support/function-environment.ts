import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { limitNames } from '../../shared/contracts/tenant-limits.ts';
import { environments, type FunctionName, senderName } from '../../shared/environment.ts';

/** The environment of a function that runs by itself; every URL in it is `url`. */
export const environmentOf = (name: FunctionName, url: string): Record<string, string> => {
  const values: Record<string, string> = {
    TOKEN_CACHE_SECONDS: '0',
    AUDIT_RETENTION_DAYS: '90',
    TENANT_LIMITS: JSON.stringify(Object.fromEntries(limitNames.map((name) => [name, 1_000]))),
    RETRY_DELAY_SCALE: '1',
    DEAD_LETTER_EMAIL: 'false',
    FAILING_NOTICES: 'false',
    ESCALATE_UNREACHED: 'off',
    COUNT_EVENTS: 'false',
    DELIVERY_OUTCOMES: 'false',
    LINK_SCHEME: 'https',
    EGRESS_ALLOW: '127.0.0.0/8',
    SMS_COUNTRIES: '',
    SENDER_QUEUES: JSON.stringify(Object.fromEntries(notificationTypeIds.map((id) => [id, url]))),
    SENDER_FUNCTIONS: JSON.stringify(Object.fromEntries(notificationTypeIds.map((id) => [id, senderName(id)]))),
  };
  return {
    AWS_ENDPOINT_URL: url,
    AWS_REGION: 'local-1',
    AWS_ACCESS_KEY_ID: 'none',
    AWS_SECRET_ACCESS_KEY: 'none',
    ...Object.fromEntries(Object.keys(environments[name]).map((variable) => [variable, values[variable] ?? url])),
  };
};
