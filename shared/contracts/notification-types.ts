import * as z from 'zod/mini';

/** One field of a type's `details`: its description in `/notification_types`, and the rule its value keeps. */
export type DetailsField = {
  readonly description: string;
  readonly optional: boolean;
  /** True where the value is allowed. It is already known to be a text of 1 to 4096 characters. */
  readonly allows: (value: string) => boolean;
  /** The rule in words that follow the field's name. */
  readonly rule: string;
};

type NotificationType = {
  readonly fields: Readonly<Record<string, DetailsField>> | null;
  /** True where the destination opens and closes incidents: then alerts of one alarm must arrive in order. */
  readonly hasIncidents: boolean;
  /** True where AWS may report after the delivery that it did not arrive (SES bounces). */
  readonly canBounce: boolean;
};

const allowedBy =
  (schema: z.ZodMiniType) =>
  (value: string): boolean =>
    schema.safeParse(value).success;

const isDecodable = (part: string): boolean => {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
};

/** No white space or control character: the URL parser would drop them without a word, and then dial something else. */
const isHttpUrl = (value: string): boolean => {
  if (/[\s\p{Cc}]/u.test(value) || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && isDecodable(username) && isDecodable(password);
};

/** RFC 5321, section 4.5.3.1: a path is at most 256 octets, brackets included, and a local part at most 64. */
const MAX_ADDRESS = 254;
const isEmailAddress = allowedBy(
  z.email({ pattern: z.regexes.html5Email }).check(z.maxLength(MAX_ADDRESS), z.regex(/^[^@]{1,64}@[^@]+\.[^@]+$/)),
);

/** A path segment `.` or `..` would vanish from the router's address (RFC 3986, section 5.2.4). */
const isRoutingKey = (value: string): boolean => /^[a-zA-Z0-9\-_.]+$/.test(value) && value !== '.' && value !== '..';

/**
 * The one list of notification types (interface, "Details fields per type"). The schemas of `details`, the answers of
 * `/notification_types`, the queues and senders of the stack, and the dispatch all follow from it.
 */
export const notificationTypes = {
  email: {
    hasIncidents: false,
    canBounce: true,
    fields: {
      address: {
        description: 'Email address to send notifications to',
        optional: false,
        allows: isEmailAddress,
        rule: `must be an email address of at most ${MAX_ADDRESS} characters`,
      },
    },
  },
  webhook: {
    hasIncidents: false,
    canBounce: false,
    fields: {
      url: {
        description: 'An HTTP or HTTPS URL to POST the alert to',
        optional: false,
        allows: isHttpUrl,
        rule: 'must be an HTTP or HTTPS URL',
      },
    },
  },
  incidentpager: {
    hasIncidents: true,
    canBounce: false,
    fields: {
      service_key: {
        description: 'The service key of the incident pager integration',
        optional: false,
        allows: (value) => /^[a-zA-Z0-9]{1,32}$/.test(value),
        rule: 'must be 1 to 32 letters and digits',
      },
      service_endpoint: {
        description: 'The URL of the events API, where it is not the default one',
        optional: true,
        allows: isHttpUrl,
        rule: 'must be an HTTP or HTTPS URL',
      },
    },
  },
  sms: {
    hasIncidents: false,
    canBounce: false,
    fields: {
      phone_number: {
        description: 'Phone number in E.164 format: +, country code, number',
        optional: false,
        allows: allowedBy(z.e164()),
        rule: 'must be a phone number in E.164 format, for example +12025550123',
      },
    },
  },
  incidentrouter: {
    hasIncidents: true,
    canBounce: false,
    fields: {
      api_key: {
        description: 'The API key of the incident router account',
        optional: false,
        allows: allowedBy(z.uuidv4()),
        rule: 'must be a UUID of version 4',
      },
      routing_key: {
        description: 'The key that routes the incident to a team',
        optional: true,
        allows: isRoutingKey,
        rule: 'must be letters, digits, "-", "_" and ".", and neither "." nor ".."',
      },
    },
  },
  atomfeed: {
    hasIncidents: false,
    canBounce: false,
    fields: {
      category: {
        description: 'The category of the entries, which is prefixed with monitoring.alerts.',
        optional: false,
        allows: () => true,
        rule: 'must be a string',
      },
    },
  },
  technicalContactsEmail: { hasIncidents: false, canBounce: true, fields: null },
  managed: { hasIncidents: false, canBounce: false, fields: null },
} as const satisfies Record<string, NotificationType>;

/** The id of a notification type, for example `webhook`. */
export type NotificationTypeId = keyof typeof notificationTypes;

/** The ids of all types, in the order in which they are listed. */
export const notificationTypeIds = Object.keys(notificationTypes).filter(isNotificationTypeId);

/** True for the id of a type; `__proto__` and its like are none. */
export function isNotificationTypeId(id: unknown): id is NotificationTypeId {
  return typeof id === 'string' && Object.hasOwn(notificationTypes, id);
}

/** The fields of a type by name; empty for a type without fields. */
export const fieldsOf = (type: NotificationTypeId): Readonly<Record<string, DetailsField>> =>
  notificationTypes[type].fields ?? {};

/** A record of `/notification_types` (interface, "Notification type"). */
export type NotificationTypeRecord = {
  id: NotificationTypeId;
  fields: { name: string; description: string; optional: boolean }[] | null;
};

/** The record that `/notification_types` answers for a type. */
export const notificationTypeRecord = (id: NotificationTypeId): NotificationTypeRecord => ({
  id,
  fields:
    notificationTypes[id].fields &&
    Object.entries(fieldsOf(id)).map(([name, { description, optional }]) => ({ name, description, optional })),
});
