import * as z from 'zod/mini';
import { fieldsOf, isNotificationTypeId, type NotificationTypeId, notificationTypeIds } from './notification-types.ts';
import { stringMap, text, withoutNulls } from './text.ts';

/** Maximum length of a label, in code points (API.md#limits). */
export const MAX_LABEL_LENGTH = 255;

/** Maximum length of a value in `details`, in code points. */
export const MAX_DETAILS_VALUE_LENGTH = 4096;

/** Maximum length of a value in `metadata`, in code points. */
export const MAX_METADATA_VALUE_LENGTH = 255;

/** Entries of `details` or `metadata`. Any key may occur, `__proto__` too: copy with spread or `Object.fromEntries` only. */
export type StringMap = Readonly<Record<string, string>>;

/** What a client says of a notification, complete and valid. */
export type NotificationAttributes = {
  label: string;
  type: NotificationTypeId;
  details: StringMap;
  metadata?: StringMap | undefined;
};

/** A notification as it is read and listed (interface, "Notification"). */
export type NotificationRecord = { id: string } & NotificationAttributes;

/** A destination that is tested before it is created. */
export type Destination = Pick<NotificationAttributes, 'type' | 'details'>;

const type = z.custom<NotificationTypeId>(isNotificationTypeId, {
  error: (issue) => (issue.input === undefined ? 'is required' : `must be one of ${notificationTypeIds.join(', ')}`),
});

/** Fields of the type must be there and keep their rules; entries beyond them are the client's own (design 2, Leniency). */
const detailsOf = (typeId: NotificationTypeId) => {
  const fields = Object.entries(fieldsOf(typeId));
  const map = stringMap(MAX_DETAILS_VALUE_LENGTH, (details, report) => {
    for (const [name, field] of fields) {
      const value = Object.hasOwn(details, name) ? details[name] : undefined;
      if (value === undefined && !field.optional) report(name, 'is required');
      if (typeof value === 'string' && value !== '' && !field.allows(value)) report(name, field.rule);
    }
  });
  return fields.length === 0 ? z._default(map, {}) : map;
};

const attributes = (typeId: unknown) => ({
  label: text(1, MAX_LABEL_LENGTH),
  type,
  details: isNotificationTypeId(typeId) ? detailsOf(typeId) : stringMap(MAX_DETAILS_VALUE_LENGTH),
  metadata: z.optional(stringMap(MAX_METADATA_VALUE_LENGTH)),
});

const typeIn = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;

const bodyMessage = 'must be a JSON object';

/**
 * The schema of a whole notification for the type that the body names, so that all faults are found in one pass.
 * Feed it with `withoutNulls(body)`.
 */
const notificationSchema = (body: unknown) => z.object(attributes(typeIn(body)), bodyMessage);

const destinationSchema = (body: unknown) => {
  const { type, details } = attributes(typeIn(body));
  return z.object({ type, details }, bodyMessage);
};

/** Reads the body of a create; the error names every failed field. */
export const parseNotification = (body: unknown) => {
  const given = withoutNulls(body);
  return notificationSchema(given).safeParse(given);
};

/** Reads the body of a test before creating; the error names every failed field. */
export const parseDestination = (body: unknown) => {
  const given = withoutNulls(body);
  return destinationSchema(given).safeParse(given);
};

const changes = z.object(
  {
    label: z.optional(z.unknown()),
    type: z.optional(z.unknown()),
    details: z.optional(z.unknown()),
    metadata: z.optional(z.unknown()),
  },
  bodyMessage,
);

/** Reads the body of an update: only the shape, since the values are valid or not as a part of the whole notification. */
export const parseChanges = (body: unknown) => changes.safeParse(withoutNulls(body));
