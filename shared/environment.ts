import * as z from 'zod/mini';
import type { EndpointName } from './contracts/endpoints.ts';
import { escalationModes } from './contracts/notice.ts';
import { type NotificationTypeId, notificationTypeIds } from './contracts/notification-types.ts';

/** The name of a Lambda function: the name of its file in `functions/` without the extension. */
export type FunctionName =
  | EndpointName
  | 'handle-unknown-route'
  | 'dispatch-alarm-events'
  | 'record-email-events'
  | SenderName;

/** The name of the sender function of a notification type. */
export type SenderName = `send-${NotificationTypeId}`;

/** Returns the name of the sender function of a notification type. */
export const senderName = <Type extends NotificationTypeId>(type: Type): `send-${Type}` => `send-${type}`;

const nonEmptyString = z.string().check(z.minLength(1));
const optionalString = z.optional(z.string().check(z.minLength(1)));
const url = z.string().check(z.url());
const parsedNumber = z.transform((text: string) => Number(text));
const nonNegativeNumber = z.pipe(
  z.string().check(z.regex(/^\d+(\.\d+)?$/)),
  z.pipe(parsedNumber, z.number().check(z.nonnegative())),
);

const booleanFlag = z.pipe(
  z.enum(['true', 'false']),
  z.transform((text: 'true' | 'false') => text === 'true'),
);

/** A JSON object with a non-empty string for every notification type. */
const stringByType = z.pipe(
  z.string(),
  z.pipe(
    z.transform((text: string): unknown => JSON.parse(text)),
    z.record(z.enum(notificationTypeIds), nonEmptyString),
  ),
);

/** A comma-separated list; empty by default. */
const commaSeparated = z.pipe(
  z.optional(z.string()),
  z.transform((text: string | undefined) => text?.split(',').filter(Boolean) ?? []),
);

const tokens = { TOKENS_TABLE: nonEmptyString, TOKEN_CACHE_SECONDS: nonNegativeNumber };
const notifications = { NOTIFICATIONS_TABLE: nonEmptyString };
const links = { LINK_SCHEME: z.enum(['http', 'https']) };
const accounts = { ACCOUNTS_TABLE: nonEmptyString };
const tests = {
  ...tokens,
  ...accounts,
  TESTS_PER_TENANT_PER_DAY: nonNegativeNumber,
  SENDER_FUNCTIONS: stringByType,
};
const limits = {
  NOTIFICATIONS_PER_TENANT: nonNegativeNumber,
  TESTS_PER_TENANT_PER_DAY: nonNegativeNumber,
  REDELIVERIES_PER_TENANT_PER_DAY: nonNegativeNumber,
  EMAILS_PER_TENANT_PER_DAY: nonNegativeNumber,
  SMS_PER_TENANT_PER_DAY: nonNegativeNumber,
  MANAGED_PER_TENANT_PER_DAY: nonNegativeNumber,
};
const senderQueues = { SENDER_QUEUES: stringByType };
const queues = { ...senderQueues, DEAD_LETTER_QUEUE: url };
const deliveries = { DELIVERIES_TABLE: nonEmptyString };
const escalation = { ...accounts, ...senderQueues, ESCALATE_UNREACHED: z.enum(escalationModes) };
const reports = {
  ...escalation,
  ...notifications,
  ...deliveries,
  API_URL: url,
  RETRY_DELAY_SCALE: nonNegativeNumber,
  DEAD_LETTER_EMAIL: booleanFlag,
  FAILING_NOTICES: booleanFlag,
};
const sender = { ...reports, ...queues, RETRY_QUEUE: url };
const dailyLimit = { ...accounts, DAILY_LIMIT: nonNegativeNumber };
const email = {
  ...dailyLimit,
  EMAIL_FROM: nonEmptyString,
  EMAIL_REPLY_TO: optionalString,
  CONFIGURATION_SET: nonEmptyString,
};
/** CIDR blocks that tenant URLs may reach in addition to public addresses. */
const egress = { EGRESS_ALLOW: commaSeparated };

/**
 * The environment variables of each function. `lib/` must set exactly these, checked by the compiler. A function parses
 * its own once at cold start (`environments[name].parse(process.env)`), so an invalid configuration fails immediately.
 */
export const environments = {
  'create-notification': z.object({
    ...tokens,
    ...notifications,
    ...links,
    NOTIFICATIONS_PER_TENANT: nonNegativeNumber,
  }),
  'list-notifications': z.object({ ...tokens, ...notifications, ...links }),
  'get-notification': z.object({ ...tokens, ...notifications }),
  'update-notification': z.object({ ...tokens, ...notifications, ...links }),
  'delete-notification': z.object({ ...tokens, ...notifications }),
  'test-notification': z.object({ ...tests, ...notifications }),
  'test-new-notification': z.object(tests),
  'list-notification-types': z.object({ ...tokens, ...links }),
  'get-notification-type': z.object(tokens),
  'list-deliveries': z.object({ ...tokens, ...notifications, ...deliveries, ...links }),
  redeliver: z.object({
    ...tokens,
    ...notifications,
    ...deliveries,
    ...accounts,
    ...senderQueues,
    REDELIVERIES_PER_TENANT_PER_DAY: nonNegativeNumber,
  }),
  'get-account': z.object({ ...tokens, ...notifications, ...accounts, ...limits }),
  'update-account': z.object({ ...tokens, ...accounts }),
  'rotate-signing-secret': z.object({ ...tokens, ...accounts }),
  'list-tokens': z.object({ ...tokens, ...links }),
  'create-token': z.object(tokens),
  'revoke-token': z.object(tokens),
  'handle-unknown-route': z.object({}),
  'dispatch-alarm-events': z.object({
    ...notifications,
    ...escalation,
    ...queues,
    ALARM_EVENTS_QUEUE: url,
  }),
  'record-email-events': z.object({ ...reports, EMAIL_EVENTS_QUEUE: url }),
  'send-email': z.object({ ...sender, ...email }),
  'send-webhook': z.object({ ...sender, ...egress, ...accounts }),
  'send-incidentpager': z.object({ ...sender, ...egress, PAGER_ENDPOINT: url }),
  'send-sms': z.object({
    ...sender,
    ...dailyLimit,
    SMS_COUNTRIES: commaSeparated,
    SMS_SENDER_ID: optionalString,
    SMS_ORIGINATION_NUMBER: optionalString,
    SMS_MAX_PRICE_USD: optionalString,
  }),
  'send-incidentrouter': z.object({ ...sender, ...accounts, ROUTER_ENDPOINT: url }),
  'send-atomfeed': z.object({ ...sender, FEED_ENDPOINT: z.optional(url) }),
  'send-technicalContactsEmail': z.object({ ...sender, ...email }),
  'send-managed': z.object({ ...sender, ...dailyLimit, MANAGED_TOPIC: nonEmptyString }),
} as const satisfies Record<FunctionName, z.ZodMiniObject>;

/** The environment variables that a function requires, as strings. */
export type EnvironmentOf<Name extends FunctionName> = z.input<(typeof environments)[Name]>;
