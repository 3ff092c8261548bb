import * as z from 'zod/mini';
import type { EndpointName } from './contracts/endpoints.ts';
import { escalationModes } from './contracts/notice.ts';
import { type NotificationTypeId, notificationTypeIds } from './contracts/notification-types.ts';

/** Generating a parser for each schema pays off only after thousands of calls, and takes 1 ms of a cold start. */
z.config({ jitless: true });

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
  get 'create-notification'() {
    return z.object({
      ...tokens,
      ...notifications,
      ...links,
      NOTIFICATIONS_PER_TENANT: nonNegativeNumber,
    });
  },
  get 'list-notifications'() {
    return z.object({ ...tokens, ...notifications, ...links });
  },
  get 'get-notification'() {
    return z.object({ ...tokens, ...notifications });
  },
  get 'update-notification'() {
    return z.object({ ...tokens, ...notifications, ...links });
  },
  get 'delete-notification'() {
    return z.object({ ...tokens, ...notifications });
  },
  get 'test-notification'() {
    return z.object({ ...tests, ...notifications });
  },
  get 'test-new-notification'() {
    return z.object(tests);
  },
  get 'list-notification-types'() {
    return z.object({ ...tokens, ...links });
  },
  get 'get-notification-type'() {
    return z.object(tokens);
  },
  get 'list-deliveries'() {
    return z.object({ ...tokens, ...notifications, ...deliveries, ...links });
  },
  get redeliver() {
    return z.object({
      ...tokens,
      ...notifications,
      ...deliveries,
      ...accounts,
      ...senderQueues,
      REDELIVERIES_PER_TENANT_PER_DAY: nonNegativeNumber,
    });
  },
  get 'get-account'() {
    return z.object({ ...tokens, ...notifications, ...accounts, ...limits });
  },
  get 'update-account'() {
    return z.object({ ...tokens, ...accounts });
  },
  get 'rotate-signing-secret'() {
    return z.object({ ...tokens, ...accounts });
  },
  get 'list-tokens'() {
    return z.object({ ...tokens, ...links });
  },
  get 'create-token'() {
    return z.object(tokens);
  },
  get 'revoke-token'() {
    return z.object(tokens);
  },
  get 'handle-unknown-route'() {
    return z.object({});
  },
  get 'dispatch-alarm-events'() {
    return z.object({
      ...notifications,
      ...escalation,
      ...queues,
      ALARM_EVENTS_QUEUE: url,
    });
  },
  get 'record-email-events'() {
    return z.object({ ...reports, EMAIL_EVENTS_QUEUE: url });
  },
  get 'send-email'() {
    return z.object({ ...sender, ...email });
  },
  get 'send-webhook'() {
    return z.object({ ...sender, ...egress, ...accounts });
  },
  get 'send-incidentpager'() {
    return z.object({ ...sender, ...egress, PAGER_ENDPOINT: url });
  },
  get 'send-sms'() {
    return z.object({
      ...sender,
      ...dailyLimit,
      SMS_COUNTRIES: commaSeparated,
      SMS_SENDER_ID: optionalString,
      SMS_ORIGINATION_NUMBER: optionalString,
      SMS_MAX_PRICE_USD: optionalString,
    });
  },
  get 'send-incidentrouter'() {
    return z.object({ ...sender, ...accounts, ROUTER_ENDPOINT: url });
  },
  get 'send-atomfeed'() {
    return z.object({ ...sender, FEED_ENDPOINT: z.optional(url) });
  },
  get 'send-technicalContactsEmail'() {
    return z.object({ ...sender, ...email });
  },
  get 'send-managed'() {
    return z.object({ ...sender, ...dailyLimit, MANAGED_TOPIC: nonEmptyString });
  },
} as const satisfies Record<FunctionName, z.ZodMiniObject>;

/** The environment variables that a function requires, as strings. */
export type EnvironmentOf<Name extends FunctionName> = z.input<(typeof environments)[Name]>;
