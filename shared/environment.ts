import type { EndpointName } from './contracts/endpoints.ts';
import { type NotificationTypeId, notificationTypeIds } from './contracts/notification-types.ts';
import { escalationModes } from './contracts/outcomes.ts';
import { limitNames } from './contracts/tenant-limits.ts';

/** The name of a Lambda function: the name of its file in `functions/` without the extension. */
export type FunctionName =
  | EndpointName
  | 'handle-unknown-route'
  | 'opt-out'
  | 'dispatch-alarm-events'
  | 'record-email-events'
  | 'watch-deliveries'
  | 'report-deliveries'
  | SenderName;

export type SenderName = `send-${NotificationTypeId}`;

export const senderName = <Type extends NotificationTypeId>(type: Type): `send-${Type}` => `send-${type}`;

/* No zod schemas: every function parses its environment when it starts, and they took 3% of a cold start. */

/** Optional if its value can be undefined. @throws Error */
type Variable<Value> = (text: string | undefined) => Value;

const invalid = (): never => {
  throw new TypeError('The value of an environment variable is not valid.');
};

const nonEmptyString: Variable<string> = (text) => text || invalid();

const optionalString: Variable<string | undefined> = (text) => (text === '' ? invalid() : text);

const url: Variable<string> = (text) => (text && URL.canParse(text) ? text : invalid());

const optionalUrl: Variable<string | undefined> = (text) => (text === undefined ? text : url(text));

const nonNegativeNumber: Variable<number> = (text = '') => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : invalid());

const oneOf =
  <Value extends string>(...values: readonly Value[]): Variable<Value> =>
  (text) =>
    values.find((value) => value === text) ?? invalid();

const booleanFlag: Variable<boolean> = (text) => oneOf('true', 'false')(text) === 'true';

const commaSeparated: Variable<string[]> = (text = '') => text.split(',').filter(Boolean);

const jsonRecord = <Key extends string, Value>(
  keys: readonly Key[],
  isValue: (value: unknown) => value is Value,
): Variable<Record<Key, Value>> => {
  const isRecord = (value: unknown): value is Record<Key, Value> => {
    if (typeof value !== 'object' || value === null) return false;
    const values = new Map<string, unknown>(Object.entries(value));
    return values.size === keys.length && keys.every((key) => isValue(values.get(key)));
  };
  return (text = '') => {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : invalid();
  };
};

const stringByType = jsonRecord(
  notificationTypeIds,
  (value): value is string => typeof value === 'string' && value !== '',
);

const numberByLimit = jsonRecord(limitNames, (value): value is number => typeof value === 'number');

const tokens = { TOKENS_TABLE: nonEmptyString, TOKEN_CACHE_SECONDS: nonNegativeNumber };
const notifications = { NOTIFICATIONS_TABLE: nonEmptyString };
const links = { LINK_SCHEME: oneOf('http', 'https') };
const audits = { AUDITS_TABLE: nonEmptyString, AUDIT_RETENTION_DAYS: nonNegativeNumber };
const accounts = { ACCOUNTS_TABLE: nonEmptyString };
/** Accounts may override the limits of the deployment. */
const limits = { ...accounts, TENANT_LIMITS: numberByLimit };
const tests = { ...tokens, ...limits, ...audits, SENDER_FUNCTIONS: stringByType };
const senderQueues = { SENDER_QUEUES: stringByType };
const queues = { ...senderQueues, DEAD_LETTER_QUEUE: url };
const deliveries = { DELIVERIES_TABLE: nonEmptyString };
const reports = { REPORTS_QUEUE: url };
const retryDelays = { RETRY_DELAY_SCALE: nonNegativeNumber };
const sender = {
  ...accounts,
  ...notifications,
  ...deliveries,
  ...queues,
  ...retryDelays,
  RETRY_QUEUE: url,
  ALARM_URL: optionalString,
};
const ses = { EMAIL_FROM: nonEmptyString, EMAIL_REPLY_TO: optionalString, CONFIGURATION_SET: nonEmptyString };
/** Emails have links to the page that stops them. */
const email = { ...limits, ...ses, ...reports, API_URL: url };
/** What tenant URLs may reach in addition to public addresses. */
const egress = { EGRESS_ALLOW: commaSeparated };

/**
 * The environment variables of each function. `lib/` must set exactly these, checked by the compiler. A function parses
 * its own once at cold start (`parseEnvironment`), so an invalid configuration fails immediately.
 */
export const environments = {
  'create-notification': { ...tokens, ...notifications, ...links, ...limits, ...audits, ...egress },
  'list-notifications': { ...tokens, ...notifications, ...links },
  'get-notification': { ...tokens, ...notifications, ...accounts },
  'update-notification': { ...tokens, ...notifications, ...links, ...audits, ...egress },
  'delete-notification': { ...tokens, ...notifications, ...audits },
  'test-notification': { ...tests, ...notifications },
  'test-new-notification': tests,
  'list-notification-types': { ...tokens, ...links },
  'get-notification-type': tokens,
  'list-deliveries': { ...tokens, ...notifications, ...deliveries, ...links },
  'search-deliveries': { ...tokens, ...notifications, ...deliveries, ...links },
  'list-failures': { ...tokens, ...notifications, ...deliveries, ...links },
  'create-signing-secret': { ...tokens, ...notifications, ...audits },
  'delete-signing-secret': { ...tokens, ...notifications, ...audits },
  redeliver: { ...tokens, ...notifications, ...deliveries, ...limits, ...senderQueues, ...audits },
  'get-account': { ...tokens, ...notifications, ...limits },
  'update-account': { ...tokens, ...accounts, ...notifications, ...audits },
  'rotate-signing-secret': { ...tokens, ...accounts, ...audits },
  'list-tokens': { ...tokens, ...links },
  'create-token': { ...tokens, ...audits },
  'revoke-token': { ...tokens, ...audits },
  'list-audits': { ...tokens, ...links, AUDITS_TABLE: nonEmptyString },
  'handle-unknown-route': {},
  'opt-out': { ...accounts, ...audits, ...reports },
  'dispatch-alarm-events': {
    ...notifications,
    ...deliveries,
    ...queues,
    ...reports,
    ALARM_EVENTS_QUEUE: url,
    HEARTBEAT_ROLE_ID: optionalString,
    COUNT_EVENTS: booleanFlag,
  },
  'record-email-events': { ...accounts, ...deliveries, ...reports, EMAIL_EVENTS_QUEUE: url },
  'watch-deliveries': { ...reports, ...retryDelays, DELIVERY_OUTCOMES: booleanFlag },
  'report-deliveries': {
    ...reports,
    ...retryDelays,
    ...accounts,
    ...notifications,
    ...deliveries,
    ...senderQueues,
    API_URL: url,
    ESCALATE_UNREACHED: oneOf(...escalationModes),
    DEAD_LETTER_EMAIL: booleanFlag,
    FAILING_NOTICES: booleanFlag,
    OUTCOMES_TOPIC: optionalString,
  },
  'send-email': { ...sender, ...email },
  'send-webhook': { ...sender, ...egress, HEARTBEAT_URL: optionalUrl },
  'send-incidentpager': { ...sender, ...egress, PAGER_ENDPOINT: url },
  'send-sms': {
    ...sender,
    ...limits,
    SMS_COUNTRIES: commaSeparated,
    SMS_SENDER_ID: optionalString,
    SMS_ORIGINATION_NUMBER: optionalString,
    SMS_MAX_PRICE_USD: optionalString,
  },
  'send-incidentrouter': { ...sender, ROUTER_ENDPOINT: url },
  'send-atomfeed': { ...sender, FEED_ENDPOINT: optionalUrl },
  'send-technicalContactsEmail': { ...sender, ...email },
  'send-managed': { ...sender, ...limits, MANAGED_TOPIC: nonEmptyString },
} as const satisfies Record<FunctionName, Readonly<Record<string, Variable<unknown>>>>;

type Environments = typeof environments;

export type ParsedEnvironment<Name extends FunctionName> = {
  [Key in keyof Environments[Name]]: Environments[Name][Key] extends Variable<infer Value> ? Value : never;
};

const hasVariables = <Name extends FunctionName>(
  values: Readonly<Record<string, unknown>>,
  name: Name,
): values is ParsedEnvironment<Name> => Object.keys(environments[name]).every((variable) => variable in values);

/** @throws Error with the names of the invalid variables */
export const parseEnvironment = <Name extends FunctionName>(
  name: Name,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): ParsedEnvironment<Name> => {
  const values: Record<string, unknown> = {};
  const invalid: string[] = [];
  for (const [key, parse] of Object.entries<Variable<unknown>>(environments[name])) {
    try {
      values[key] = parse(variables[key]);
    } catch {
      invalid.push(key);
    }
  }
  if (hasVariables<Name>(values, name)) return values;
  throw new Error(`Environment variables are missing or invalid: ${invalid.join(', ')}.`);
};

export type VariableName = { [Name in FunctionName]: keyof Environments[Name] }[FunctionName];
