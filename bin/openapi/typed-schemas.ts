import * as z from 'zod';
import { MAX_DETAILS_VALUE_LENGTH, MAX_METADATA_VALUE_LENGTH } from '../../shared/contracts/notification.ts';
import {
  byType,
  fieldsOf,
  type NotificationTypeId,
  notificationTypeIds,
} from '../../shared/contracts/notification-types.ts';
import { MAX_ENTRIES, MAX_KEY_LENGTH } from '../../shared/contracts/text.ts';
import { label, schemaReference, text } from './common-schemas.ts';
import type { Examples } from './examples.ts';
import { describedFields } from './notification-types.ts';
import { webhookRequest } from './webhook-request.ts';

/** A map of texts, with values of at most `maxLength` code points. */
export const stringMap = (maxLength: number) =>
  z.record(text(MAX_KEY_LENGTH), text(maxLength)).meta({ maxProperties: MAX_ENTRIES });
/** The metadata of a notification. */
export const metadata = stringMap(MAX_METADATA_VALUE_LENGTH).optional().describe('Key/value pairs of your own');

/** A group of schemas with one for each type, which `type` selects. */
type PerType = Readonly<Record<NotificationTypeId, z.ZodType>>;

/** Returns the name of a schema of a group, such as `WebhookDetails`. */
const nameOf = (type: NotificationTypeId, group: string): string =>
  `${type.charAt(0).toUpperCase()}${type.slice(1)}${group}`;

const named = (schemas: PerType, group: string): Record<string, z.ZodType> =>
  Object.fromEntries(notificationTypeIds.map((type) => [nameOf(type, group), schemas[type]]));

/** The schema of a value of any type: `type` selects the schema of the group. */
const selectedByType = (schemas: PerType, group: string, description: string) =>
  z.xor(notificationTypeIds.map((type) => schemas[type])).meta({
    description,
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(notificationTypeIds.map((type) => [type, schemaReference(nameOf(type, group)).$ref])),
    },
  });

/** The `details` of a type: its fields, and any other entries. */
const detailsOf = (type: NotificationTypeId) => {
  const described = describedFields(type);
  const fields = Object.entries(fieldsOf(type)).map(([name, { description, rule, optional }]) => {
    const field = (described[name]?.format ?? z.string()).check(z.describe(`${description}: ${rule}`));
    return [name, optional ? z.optional(field) : field] as const;
  });
  return z
    .object(Object.fromEntries(fields))
    .catchall(text(MAX_DETAILS_VALUE_LENGTH))
    .meta({
      description: `The fields of the type \`${type}\`${fields.length === 0 ? ' (none)' : ''}, and any entries of your own`,
      maxProperties: MAX_ENTRIES,
      propertyNames: { minLength: 1, maxLength: MAX_KEY_LENGTH },
    });
};

const details = byType(detailsOf);
const notificationId = z.string().describe('ID of the notification, assigned by the service');
const typeOf = (type: NotificationTypeId) => z.literal(type).describe('The notification type');
/** Requests may omit the `details` of a type without fields. */
const requestedDetails = (type: NotificationTypeId) =>
  Object.keys(fieldsOf(type)).length > 0 ? details[type] : details[type].optional();

/** The attributes that only one type has. */
const ownAttributes = (type: NotificationTypeId) =>
  type === 'webhook' ? { webhook_request: webhookRequest.optional() } : {};

const destinations = byType((type) =>
  z
    .object({ type: typeOf(type), details: requestedDetails(type), ...ownAttributes(type) })
    .describe(`A destination of type \`${type}\``),
);
const newNotifications = byType((type) =>
  z
    .object({ label, type: typeOf(type), details: requestedDetails(type), metadata, ...ownAttributes(type) })
    .describe(`A new notification of type \`${type}\``),
);
const notifications = byType((type) =>
  z
    .object({ id: notificationId, label, type: typeOf(type), details: details[type], metadata, ...ownAttributes(type) })
    .describe(`A notification of type \`${type}\``),
);
/** A notification of any type. */
export const notification = selectedByType(notifications, 'Notification', 'A destination for alerts');

/** A notification to create, of any type. */
export const newNotification = selectedByType(newNotifications, 'NewNotification', 'A notification to create');

/** A destination to test, of any type. */
export const destination = selectedByType(destinations, 'Destination', 'A destination to test');

/** The ID of a type. */
export const typeId = z.enum(notificationTypeIds).describe('The notification type');

/** The schemas of each type by name. */
export const schemasByType: Record<string, z.ZodType> = {
  WebhookRequest: webhookRequest,
  ...named(details, 'Details'),
  ...named(destinations, 'Destination'),
  ...named(newNotifications, 'NewNotification'),
  ...named(notifications, 'Notification'),
};

/** Returns an example for each notification type. */
export const ofEachType = (valueFor: (type: NotificationTypeId) => unknown): Examples =>
  Object.fromEntries(notificationTypeIds.map((type) => [type, { summary: `Type ${type}`, value: valueFor(type) }]));
