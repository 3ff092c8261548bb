import * as z from 'zod/mini';
import type { NotificationTypeId } from './notification-types.ts';
import { boundedText, type StringMap } from './text.ts';

export type DetailsField = {
  /** As in `/notification_types`. */
  readonly description: string;
  readonly optional?: true;
  /** For a value of valid length. */
  readonly schema: () => z.ZodMiniType<string>;
  readonly allows: (value: string) => boolean;
  /** As it follows the field name in an error message. */
  readonly rule: string;
  /** Whether alerts are sent to the value. */
  readonly isUrl?: true;
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

/** RFC 5321, section 4.5.3.1: 256 octets including angle brackets; the local part has at most 64. */
export const MAX_EMAIL_ADDRESS_LENGTH = 254;

/** `<input type="email">` (HTML) without what SES refuses: odd dots in the local part (RFC 5321, section 4.1.2). */
const HTML_EMAIL =
  /^[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

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

/** Its JSON Schema expresses only the scheme. */
const httpUrl = urlThat(isHttpUrl);

const hasPlaceholder = (value: string): boolean => value.includes('{{');

/** Placeholders are replaced only in the body of a `webhook_request`. */
const webhookUrl = urlThat((value) => isHttpUrl(value) && !hasPlaceholder(value));

/** Null for a type without fields (docs/api.md#details-by-type). */
export const notificationFields = {
  email: {
    address: {
      description: 'Email address to send notifications to',
      ...allowedBy(emailAddress),
      rule: `must be an email address of at most ${MAX_EMAIL_ADDRESS_LENGTH} characters`,
    },
  },
  webhook: {
    url: {
      description: 'An HTTP or HTTPS URL to POST the alert to',
      ...webhookUrl,
      rule: 'must be an HTTP or HTTPS URL',
    },
  },
  incidentpager: {
    service_key: {
      description: 'The service key of the incident pager integration',
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
  sms: {
    phone_number: {
      description: 'Phone number in E.164 format: +, country code, number',
      ...allowedBy(() => z.string().check(z.regex(/^\+[1-9]\d{5,14}$/))),
      rule: 'must be a phone number in E.164 format, for example +12025550123',
    },
  },
  incidentrouter: {
    api_key: {
      description: 'The API key of the incident router account',
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
  atomfeed: {
    category: {
      description: 'The category of the entries, which is prefixed with monitoring.alerts.',
      ...allowedBy(() => z.string()),
      rule: 'must be a string',
    },
  },
  technicalContactsEmail: null,
  managed: null,
} as const satisfies Readonly<Record<NotificationTypeId, Readonly<Record<string, DetailsField>> | null>>;

export const fieldsOf = (type: NotificationTypeId): Readonly<Record<string, DetailsField>> =>
  notificationFields[type] ?? {};

/** The domain in ASCII (RFC 5890). Returns any other text unchanged. */
const withAsciiDomain = (value: string): string => {
  const [, name, domain] = /^([^@]+@)([^@/?#:\\]+)$/.exec(value) ?? [];
  const url = `http://${domain}`;
  return domain !== undefined && /[^\0-\x7f]/.test(domain) && URL.canParse(url) ? name + new URL(url).hostname : value;
};

/** Whether alerts may be sent to a valid URL (`urlRule`). */
export type UrlRule = (url: string) => boolean;

/** Returns the rule that a value of valid length breaks, with the cause where it is hard to see. */
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

export const notificationTypeRecord = (id: NotificationTypeId) => ({
  id,
  fields:
    notificationFields[id] &&
    Object.entries(fieldsOf(id)).map(([name, { description, optional = false }]) => ({ name, description, optional })),
});

/** Returns the entries of `details` that are fields of the type. */
export const typeFields = ({
  type,
  details,
}: {
  type: NotificationTypeId;
  details: StringMap;
}): Record<string, string> =>
  Object.fromEntries(Object.entries(details).filter(([key]) => Object.hasOwn(fieldsOf(type), key)));
