import * as z from 'zod/mini';
import type { EndpointName } from './contracts/endpoints.ts';
import { type NotificationTypeId, notificationTypeIds } from './contracts/notification-types.ts';

/** The name of a Lambda function of the stack: the stem of its file in `functions/`. */
export type FunctionName =
  | EndpointName
  | 'handle-unknown-route'
  | 'dispatch-alarm-events'
  | 'record-email-events'
  | SenderName;

/** The name of a type's sender. */
export type SenderName = `send-${NotificationTypeId}`;

/** The name of a type's sender. */
export const senderName = <Type extends NotificationTypeId>(type: Type): `send-${Type}` => `send-${type}`;

const name = z.string().check(z.minLength(1));
const address = z.string().check(z.url());
const optionalText = z.optional(z.string().check(z.minLength(1)));
const parsedNumber = z.transform((text: string) => Number(text));
const amount = z.pipe(
  z.string().check(z.regex(/^\d+(\.\d+)?$/)),
  z.pipe(parsedNumber, z.number().check(z.nonnegative())),
);

const flag = z.pipe(
  z.enum(['true', 'false']),
  z.transform((text: 'true' | 'false') => text === 'true'),
);

/** A JSON object in one variable that holds a value for every notification type. */
const perType = z.pipe(
  z.string(),
  z.pipe(
    z.transform((text: string): unknown => JSON.parse(text)),
    z.record(z.enum(notificationTypeIds), name),
  ),
);

/** A list, separated by commas; empty by default. */
const texts = z.pipe(
  z.optional(z.string()),
  z.transform((text: string | undefined) => text?.split(',').filter(Boolean) ?? []),
);

const tokens = { TOKENS_TABLE: name, TOKEN_CACHE_SECONDS: amount };
const notifications = { NOTIFICATIONS_TABLE: name };
const links = { LINK_SCHEME: z.enum(['http', 'https']) };
const tests = { ...tokens, ACCOUNTS_TABLE: name, TESTS_PER_TENANT_PER_DAY: amount, SENDER_FUNCTIONS: perType };
const queues = { SENDER_QUEUES: perType, DEAD_LETTER_QUEUE: address };
const sender = {
  ...notifications,
  ...queues,
  RETRY_QUEUE: address,
  DELIVERIES_TABLE: name,
  RETRY_DELAY_SCALE: amount,
  DEAD_LETTER_EMAIL: flag,
};
const limited = { ACCOUNTS_TABLE: name, DAILY_LIMIT: amount };
const mail = { ...limited, EMAIL_FROM: name, EMAIL_REPLY_TO: optionalText, CONFIGURATION_SET: name };
/** CIDR blocks that a user's URL may reach although they are not public. */
const guarded = { EGRESS_ALLOW: texts };

/**
 * The environment of each function: `lib/` must supply exactly these variables, or it does not compile, and the function
 * parses them once at cold start (`environments[name].parse(process.env)`), so that a bad deploy dies at once and says why.
 */
export const environments = {
  'create-notification': z.object({ ...tokens, ...notifications, ...links, NOTIFICATIONS_PER_TENANT: amount }),
  'list-notifications': z.object({ ...tokens, ...notifications, ...links }),
  'get-notification': z.object({ ...tokens, ...notifications }),
  'update-notification': z.object({ ...tokens, ...notifications, ...links }),
  'delete-notification': z.object({ ...tokens, ...notifications }),
  'test-notification': z.object({ ...tests, ...notifications }),
  'test-new-notification': z.object(tests),
  'list-notification-types': z.object({ ...tokens, ...links }),
  'get-notification-type': z.object(tokens),
  'handle-unknown-route': z.object({}),
  'dispatch-alarm-events': z.object({ ...notifications, ...queues, ALARM_EVENTS_QUEUE: address }),
  'record-email-events': z.object({ DELIVERIES_TABLE: name, EMAIL_EVENTS_QUEUE: address }),
  'send-email': z.object({ ...sender, ...mail }),
  'send-webhook': z.object({ ...sender, ...guarded, ACCOUNTS_TABLE: name }),
  'send-incidentpager': z.object({ ...sender, ...guarded, PAGER_ENDPOINT: address }),
  'send-sms': z.object({
    ...sender,
    ...limited,
    SMS_COUNTRIES: texts,
    SMS_SENDER_ID: optionalText,
    SMS_ORIGINATION_NUMBER: optionalText,
    SMS_MAX_PRICE_USD: optionalText,
  }),
  'send-incidentrouter': z.object({ ...sender, ACCOUNTS_TABLE: name, ROUTER_ENDPOINT: address }),
  'send-atomfeed': z.object({ ...sender, FEED_ENDPOINT: z.optional(address) }),
  'send-technicalContactsEmail': z.object({ ...sender, ...mail }),
  'send-managed': z.object({ ...sender, ...limited, MANAGED_TOPIC: name }),
} as const satisfies Record<FunctionName, z.ZodMiniObject>;

/** The variables that a function must be given, as strings. */
export type EnvironmentOf<Name extends FunctionName> = z.input<(typeof environments)[Name]>;
