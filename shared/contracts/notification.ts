import * as z from 'zod/mini';
import { isJsonObject } from './json.ts';
import { brokenFieldRule, fieldsOf, type UrlRule } from './notification-fields.ts';
import { isNotificationTypeId, type NotificationTypeId, notificationTypeIds } from './notification-types.ts';
import { MAX_LABEL_LENGTH, type StringMap, stringMap, text, typeRule, withoutNulls } from './text.ts';
import { webhookRequest } from './webhook-request-rules.ts';

/** Maximum lengths in code points (docs/api.md#notifications). */
export const MAX_DETAILS_VALUE_LENGTH = 4096;
export const MAX_METADATA_VALUE_LENGTH = 255;

const type = z.enum(notificationTypeIds, typeRule(`must be one of ${notificationTypeIds.join(', ')}`));

/** Accepts additional entries (docs/decisions/api.md#leniency). */
const detailsOf = (typeId: NotificationTypeId, isAllowedUrl: UrlRule) => {
  const fields = Object.entries(fieldsOf(typeId));
  const map = stringMap(MAX_DETAILS_VALUE_LENGTH, (details, report) => {
    for (const [name, field] of fields) {
      const value = Object.hasOwn(details, name) ? details[name] : undefined;
      if (value === undefined && !field.optional) report(name, 'is required');
      const rule = typeof value === 'string' && value !== '' ? brokenFieldRule(field, value, isAllowedUrl) : undefined;
      if (rule) report(name, rule);
    }
  });
  return fields.length === 0 ? z._default(map, {}) : map;
};

/** Only `true` is stored. */
const ordered = (isPermitted: boolean) =>
  z.pipe(
    z
      .boolean('must be true or false')
      .check(z.refine((value) => isPermitted || !value, 'is only for notifications of type webhook')),
    z.transform((value) => (value ? true : undefined)),
  );

/** A year, also a leap year. */
const MAX_MUTE_MS = 366 * 86_400_000;

const MUTED_UNTIL_RULE = 'must be a time in milliseconds since the Unix epoch, at most a year ahead';

/** A time that has passed ends a mute, as if it was absent. */
const mutedUntil = z.pipe(
  z.int(MUTED_UNTIL_RULE).check(
    z.gte(0, MUTED_UNTIL_RULE),
    z.refine((untilMs) => untilMs <= Date.now() + MAX_MUTE_MS, MUTED_UNTIL_RULE),
  ),
  z.transform((untilMs) => (untilMs > Date.now() ? untilMs : undefined)),
);

const attributes = (typeId: unknown, storedHeaders: StringMap = {}, isAllowedUrl: UrlRule = () => true) => ({
  label: text(1, MAX_LABEL_LENGTH),
  type,
  details: isNotificationTypeId(typeId) ? detailsOf(typeId, isAllowedUrl) : stringMap(MAX_DETAILS_VALUE_LENGTH),
  metadata: z.optional(stringMap(MAX_METADATA_VALUE_LENGTH)),
  webhook_request: z.optional(webhookRequest(typeId === 'webhook', storedHeaders)),
  ordered: z.optional(ordered(typeId === 'webhook')),
  muted_until: z.optional(mutedUntil),
});

const typeOf = (body: unknown): unknown => (isJsonObject(body) ? body.type : undefined);

const INVALID_BODY = 'must be a JSON object';

export type NotificationAttributes = z.infer<z.ZodMiniObject<ReturnType<typeof attributes>>>;

/** Without a notification, in a test request. */
export type Destination = Pick<NotificationAttributes, 'type' | 'details' | 'webhook_request'>;

/**
 * Parses a new or an updated notification. The type in the body decides, so that one pass reports all errors.
 * @param storedHeaders the headers whose values an update may keep
 */
export const parseNotification = (body: unknown, isAllowedUrl?: UrlRule, storedHeaders?: StringMap) => {
  const present = withoutNulls(body);
  return z.object(attributes(typeOf(present), storedHeaders, isAllowedUrl), INVALID_BODY).safeParse(present);
};

export const parseDestination = (body: unknown) => {
  const present = withoutNulls(body);
  const { type, details, webhook_request } = attributes(typeOf(present));
  return z.object({ type, details, webhook_request }, INVALID_BODY).safeParse(present);
};

const given = z.optional(z.unknown());
const changes = z.object(
  {
    label: given,
    type: given,
    details: given,
    metadata: given,
    webhook_request: given,
    ordered: given,
    muted_until: given,
  },
  INVALID_BODY,
);

/** Values are validated later, as part of the updated notification. */
export const parseChanges = (body: unknown) => changes.safeParse(withoutNulls(body));

const attributeNames = Object.keys(changes.shape);

/** What other services call a mute. Without these errors, it would be ignored silently. */
const otherMutes: Readonly<Record<string, unknown>> = { enabled: false, disabled: true, muted: true };

export const otherMuteErrors = (body: unknown): string[] =>
  Object.entries(isJsonObject(body) ? body : {})
    .filter(([name, value]) => Object.hasOwn(otherMutes, name) && otherMutes[name] === value)
    .map(([name]) => `${name}: has no effect, set muted_until to mute the notification`);

export const newNotificationBody = (isAllowedUrl: UrlRule) => ({
  parse: (body: unknown) => parseNotification(body, isAllowedUrl),
  attributes: attributeNames,
  otherErrors: otherMuteErrors,
});

/** The body of a test request: what a create request has, of which the test ignores the rest. */
export const destinationBody = { parse: parseDestination, attributes: attributeNames };

/** It may have all that a response has. */
export const changesBody = {
  parse: parseChanges,
  attributes: [...attributeNames, 'id', 'stopped'],
  otherErrors: otherMuteErrors,
};
