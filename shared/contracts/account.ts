import * as z from 'zod/mini';
import { MAX_EMAIL_ADDRESS_LENGTH, notificationFields } from './notification-fields.ts';
import { boundedText, text, withoutNulls } from './text.ts';
import { timeZone } from './time-zone.ts';
import { unknownNameErrors } from './unknown-names.ts';

export const MAX_TECHNICAL_CONTACTS = 50;
export const MAX_FALLBACK_NOTIFICATIONS = 3;
/** In code points. An ID need not exist. */
export const MAX_NOTIFICATION_ID_LENGTH = 64;

/** Smallest, largest and default values (docs/api.md#summaries). */
export const summarySettings = {
  email_after: { min: 1, max: 1_000, default: 10 },
  sms_after: { min: 1, max: 100, default: 3 },
  window_minutes: { min: 1, max: 60, default: 5 },
} as const;

const summarySetting = (name: keyof typeof summarySettings) => {
  const { min, max } = summarySettings[name];
  const rule = `must be an integer from ${min} to ${max}`;
  return z.int(rule).check(z.gte(min, rule), z.lte(max, rule));
};

export type SummarySettings = Record<keyof typeof summarySettings, number>;

const summaryNames = Object.keys(summarySettings);

export const summaries = z.strictObject(
  {
    email_after: summarySetting('email_after'),
    sms_after: summarySetting('sms_after'),
    window_minutes: summarySetting('window_minutes'),
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownNameErrors('attribute', issue.keys, summaryNames).join('; ')
        : `must be an object with any of ${summaryNames.join(', ')}`,
  },
);

/** Absent settings get their default value. An empty object removes all. */
const summaryChanges = z.pipe(
  z.partial(summaries),
  z.transform((settings): SummarySettings | null => {
    if (Object.keys(settings).length === 0) return null;
    const { email_after, sms_after, window_minutes } = summarySettings;
    return {
      email_after: settings.email_after ?? email_after.default,
      sms_after: settings.sms_after ?? sms_after.default,
      window_minutes: settings.window_minutes ?? window_minutes.default,
    };
  }),
);

const WEBHOOK_TOKEN_RULE = 'must be 10 to 64 printable ASCII characters without spaces';

const MAX_WEBHOOK_TOKEN_LENGTH = 64;
export const WEBHOOK_TOKEN = /^[\x21-\x7e]{10,64}$/;

const { allows: isEmailAddress, rule: EMAIL_ADDRESS_RULE } = notificationFields.email.address;

const emailAddress = boundedText(
  { max: MAX_EMAIL_ADDRESS_LENGTH, rule: EMAIL_ADDRESS_RULE },
  z.refine(isEmailAddress, EMAIL_ADDRESS_RULE),
);

/** Removes duplicates. The length is checked first, so that an error response stays smaller than its request. */
const distinct = (max: number, what: string, item: z.ZodMiniType<string>) => {
  const rule = `must be a list of 0 to ${max} ${what}`;
  const list = z.array(z.unknown(), rule).check(z.refine(({ length }) => length <= max, rule));
  return z.pipe(
    z.pipe(list, z.array(item)),
    z.transform((items: string[]) => [...new Set(items)]),
  );
};

const changes = z.object(
  {
    technical_contacts: z.optional(distinct(MAX_TECHNICAL_CONTACTS, 'email addresses', emailAddress)),
    escalation_notifications: z.optional(
      distinct(MAX_FALLBACK_NOTIFICATIONS, 'notification IDs', text(1, MAX_NOTIFICATION_ID_LENGTH)),
    ),
    summaries: z.optional(summaryChanges),
    time_zone: z.optional(timeZone),
    webhook_token: z.optional(
      boundedText(
        { max: MAX_WEBHOOK_TOKEN_LENGTH, rule: WEBHOOK_TOKEN_RULE },
        z.regex(WEBHOOK_TOKEN, WEBHOOK_TOKEN_RULE),
      ),
    ),
  },
  'must be a JSON object',
);

export type AccountChanges = z.infer<typeof changes>;

/** The error lists every invalid field without its value: a token is confidential. */
export const parseAccountChanges = (body: unknown) => changes.safeParse(withoutNulls(body));

const readOnly = [
  'id',
  'webhook_signing_secrets',
  'limits',
  'shadow',
  'email_off',
  'stopped_contacts',
  'unusable_escalations',
  'usage',
];

/** It may have all that a response has, because clients send responses back. */
export const accountChangesBody = {
  parse: parseAccountChanges,
  attributes: [...Object.keys(changes.shape), ...readOnly],
  readOnly,
};
