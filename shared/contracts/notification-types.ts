import * as z from 'zod/mini';
import { boundedText } from './text.ts';

/** A field in the `details` of a type. */
export type DetailsField = {
  /** The description in `/notification_types`. */
  readonly description: string;
  readonly optional: boolean;
  /** Returns the schema of a value of valid length. */
  readonly schema: () => z.ZodMiniType<string>;
  /** Returns whether a value of valid length is allowed. */
  readonly allows: (value: string) => boolean;
  /** The rule as it follows the field name in an error message. */
  readonly rule: string;
  /** Whether alerts are sent to the value, a URL. */
  readonly isUrl?: true;
};

type NotificationType = {
  readonly fields: Readonly<Record<string, DetailsField>> | null;
  /** Whether the destination opens and closes incidents, so alerts of an alarm must arrive in order. */
  readonly hasIncidents: boolean;
  /** Whether SES may report a bounce after the delivery. */
  readonly canBounce: boolean;
  /** Whether it sends to URLs from notifications or settings. The other types send through AWS services only. */
  readonly sendsByHttp: boolean;
  /** The setting after how many alerts of a window the others are summarized; null if they never are. */
  readonly summarizedAfter: 'email_after' | 'sms_after' | null;
};

/** Creates the schema at each call, because few cold starts need one. */
const allowedBy = (schema: () => z.ZodMiniType<string>) => ({
  schema,
  allows: (value: string): boolean => schema().safeParse(value).success,
});

const isDecodable = (component: string): boolean => {
  try {
    decodeURIComponent(component);
    return true;
  } catch {
    return false;
  }
};

/** Rejects white space and control characters, which the URL parser drops silently. */
const isHttpUrl = (value: string): boolean => {
  if (/[\s\p{Cc}]/u.test(value) || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && isDecodable(username) && isDecodable(password);
};

/** RFC 5321, section 4.5.3.1: at most 256 octets including angle brackets; the local part has at most 64. */
export const MAX_EMAIL_ADDRESS_LENGTH = 254;

/**
 * The format of `<input type="email">` (HTML Living Standard, valid email address), without what SES refuses: dots at the
 * start, at the end or doubled in the local part (RFC 5321, section 4.1.2).
 */
const HTML_EMAIL =
  /^[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** Returns the format of an email address. */
export const emailAddress = () =>
  boundedText(
    { max: MAX_EMAIL_ADDRESS_LENGTH },
    z.email({ pattern: HTML_EMAIL }),
    // The last label of a domain starts with a letter, unlike that of an IP address.
    z.regex(/^[^@]{1,64}@[^@]+\.[a-zA-Z][^@.]*$/),
  );

const urlThat = (isAllowed: (value: string) => boolean) => ({
  isUrl: true as const,
  ...allowedBy(() =>
    z.string().check(z.refine(isAllowed), z.meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?:\\S+$' })),
  ),
});

/** An HTTP URL. Its JSON Schema expresses only the scheme. */
const httpUrl = urlThat(isHttpUrl);

const hasPlaceholder = (value: string): boolean => value.includes('{{');

/** Placeholders are replaced only in the body of a `webhook_request`. */
const webhookUrl = urlThat((value) => isHttpUrl(value) && !hasPlaceholder(value));

const defaults = { hasIncidents: false, canBounce: false, sendsByHttp: false, summarizedAfter: null } as const;

/**
 * The notification types (docs/api.md#details-by-type). The schemas of `details`, the responses of
 * `/notification_types`, the dispatch, and the queues and senders of the stack derive from this list.
 */
export const notificationTypes = {
  email: {
    ...defaults,
    canBounce: true,
    summarizedAfter: 'email_after',
    fields: {
      address: {
        description: 'Email address to send notifications to',
        optional: false,
        ...allowedBy(emailAddress),
        rule: `must be an email address of at most ${MAX_EMAIL_ADDRESS_LENGTH} characters`,
      },
    },
  },
  webhook: {
    ...defaults,
    sendsByHttp: true,
    fields: {
      url: {
        description: 'An HTTP or HTTPS URL to POST the alert to',
        optional: false,
        ...webhookUrl,
        rule: 'must be an HTTP or HTTPS URL',
      },
    },
  },
  incidentpager: {
    ...defaults,
    hasIncidents: true,
    sendsByHttp: true,
    fields: {
      service_key: {
        description: 'The service key of the incident pager integration',
        optional: false,
        ...allowedBy(() => z.string().check(z.regex(/^[a-zA-Z0-9]{1,32}$/))),
        rule: 'must be 1 to 32 letters and digits',
      },
      service_endpoint: {
        description: 'The URL of the events API, where it is not the default one',
        optional: true,
        ...httpUrl,
        rule: 'must be an HTTP or HTTPS URL',
      },
    },
  },
  sms: {
    ...defaults,
    summarizedAfter: 'sms_after',
    fields: {
      phone_number: {
        description: 'Phone number in E.164 format: +, country code, number',
        optional: false,
        ...allowedBy(() => z.string().check(z.regex(/^\+[1-9]\d{5,14}$/))),
        rule: 'must be a phone number in E.164 format, for example +12025550123',
      },
    },
  },
  incidentrouter: {
    ...defaults,
    hasIncidents: true,
    sendsByHttp: true,
    fields: {
      api_key: {
        description: 'The API key of the incident router account',
        optional: false,
        ...allowedBy(() => z.uuidv4()),
        rule: 'must be a UUID of version 4',
      },
      routing_key: {
        description: 'The key that routes the incident to a team',
        optional: true,
        // Neither `.` nor `..`, which URL parsers remove from paths (RFC 3986, section 5.2.4).
        ...allowedBy(() => z.string().check(z.regex(/^(?:\.{0,2}[\w-]|\.{3})[\w.-]*$/))),
        rule: 'must be letters, digits, "-", "_" and ".", and neither "." nor ".."',
      },
    },
  },
  atomfeed: {
    ...defaults,
    sendsByHttp: true,
    fields: {
      category: {
        description: 'The category of the entries, which is prefixed with monitoring.alerts.',
        optional: false,
        ...allowedBy(() => z.string()),
        rule: 'must be a string',
      },
    },
  },
  technicalContactsEmail: {
    ...defaults,
    canBounce: true,
    summarizedAfter: 'email_after',
    fields: null,
  },
  managed: { ...defaults, fields: null },
} as const satisfies Record<string, NotificationType>;

/** The ID of a notification type, for example `webhook`. */
export type NotificationTypeId = keyof typeof notificationTypes;

/** Returns whether a value is the ID of a type. Inherited names such as `__proto__` are not. */
export const isNotificationTypeId = (id: unknown): id is NotificationTypeId =>
  typeof id === 'string' && Object.hasOwn(notificationTypes, id);

/** The IDs of all types, in the order of `notificationTypes`. */
export const notificationTypeIds = Object.keys(notificationTypes).filter(isNotificationTypeId);

const hasEveryType = <Value>(
  values: Readonly<Partial<Record<NotificationTypeId, Value>>>,
): values is Readonly<Record<NotificationTypeId, Value>> => notificationTypeIds.every((id) => id in values);

/** Returns a value for each type. */
export const byType = <Value>(
  create: (type: NotificationTypeId) => Value,
): Readonly<Record<NotificationTypeId, Value>> => {
  const values: Partial<Record<NotificationTypeId, Value>> = Object.fromEntries(
    notificationTypeIds.map((id) => [id, create(id)]),
  );
  if (!hasEveryType(values)) throw new Error('A notification type has no value.');
  return values;
};

/** Returns the fields of a type by name, or an empty object. */
export const fieldsOf = (type: NotificationTypeId): Readonly<Record<string, DetailsField>> =>
  notificationTypes[type].fields ?? {};

/** Returns an email address with its domain in ASCII (RFC 5890), and any other text unchanged. */
const withAsciiDomain = (value: string): string => {
  const [, name, domain] = /^([^@]+@)([^@/?#:\\]+)$/.exec(value) ?? [];
  const url = `http://${domain}`;
  return domain !== undefined && /[^\0-\x7f]/.test(domain) && URL.canParse(url) ? name + new URL(url).hostname : value;
};

/** Returns whether alerts may be sent to a valid URL (`urlRule`). */
export type UrlRule = (url: string) => boolean;

/** Returns the rule that a value of valid length breaks, with the cause where it is hard to see, or undefined. */
export const brokenFieldRule = (
  { allows, rule, isUrl }: DetailsField,
  value: string,
  isAllowedUrl: UrlRule,
): string | undefined => {
  if (allows(value)) return isUrl && !isAllowedUrl(value) ? 'must not have a private IP address' : undefined;
  if (allows(value.trim())) return `${rule}, without white space around it`;
  const ascii = withAsciiDomain(value);
  if (allows(ascii)) return `${rule}, with its domain in ASCII: ${ascii}`;
  return hasPlaceholder(value) ? `${rule}, without placeholders` : rule;
};

/** Returns a type as `/notification_types` contains it (docs/api.md#details-by-type). */
export const notificationTypeRecord = (id: NotificationTypeId) => ({
  id,
  fields:
    notificationTypes[id].fields &&
    Object.entries(fieldsOf(id)).map(([name, { description, optional }]) => ({ name, description, optional })),
});
