import * as z from 'zod';
import { MAX_DETAILS_VALUE_LENGTH, MAX_METADATA_VALUE_LENGTH } from '../../shared/contracts/notification.ts';
import {
  byType,
  fieldsOf,
  type NotificationTypeId,
  notificationTypeIds,
} from '../../shared/contracts/notification-types.ts';
import { MAX_ENTRIES, MAX_KEY_LENGTH } from '../../shared/contracts/text.ts';
import { label, referenceTo, string, text } from './schemas.ts';
import { webhookRequest } from './webhook-request.ts';

/** A map of texts, with values of at most `maxLength` code points. */
export const stringMap = (maxLength: number) =>
  z.record(text(MAX_KEY_LENGTH), text(maxLength)).meta({ maxProperties: MAX_ENTRIES });
/** The metadata of a notification. */
export const metadata = stringMap(MAX_METADATA_VALUE_LENGTH).optional().describe('Key/value pairs of your own');
/** Whether a webhook is ordered. */
export const ordered = z
  .boolean()
  .describe(
    'True: no older state of an alarm is sent after a newer one, and an alert waits while another one of its alarm is sent. Returned only if true',
  );
/** The ID of a type. */
export const typeId = z.enum(notificationTypeIds).describe('The notification type');

/** Returns the name of a schema of a group, such as `WebhookDetails`. */
const nameOf = (type: NotificationTypeId, group: string): string =>
  `${type.charAt(0).toUpperCase()}${type.slice(1)}${group}`;

/** The schema of a value of any type: `type` selects the schema of the type. `group` is the suffix of their names. */
const selectedByType = (
  group: string,
  description: string,
  schemaOf: (type: NotificationTypeId) => z.ZodObject,
): z.ZodType => {
  const schemas = notificationTypeIds.map((type) =>
    schemaOf(type).meta({ id: nameOf(type, group), description: `${description}, of type \`${type}\`` }),
  );
  const mapping = byType((type) => referenceTo(nameOf(type, group)).$ref);
  return z.xor(schemas).meta({ id: group, description, discriminator: { propertyName: 'type', mapping } });
};

/** The `details` of a type: its fields, and any other entries. */
const details = byType((type) => {
  const fields = Object.entries(fieldsOf(type)).map(([name, { schema, description, rule, optional }]) => {
    const bounds = [z.minLength(1), z.maxLength(MAX_DETAILS_VALUE_LENGTH)];
    const field = schema().check(...bounds, z.describe(`${description}: ${rule}`));
    return [name, optional ? z.optional(field) : field] as const;
  });
  return z
    .object(Object.fromEntries(fields))
    .catchall(text(MAX_DETAILS_VALUE_LENGTH))
    .meta({
      id: nameOf(type, 'Details'),
      description: `The fields of the type \`${type}\`${fields.length === 0 ? ' (none)' : ''}, and any entries of your own`,
      maxProperties: MAX_ENTRIES,
      propertyNames: { minLength: 1, maxLength: MAX_KEY_LENGTH },
    });
});

/** What a request says of a destination. It may omit the `details` of a type without fields. */
const destinationOf = (type: NotificationTypeId) => ({
  type: z.literal(type).describe('The notification type'),
  details: Object.keys(fieldsOf(type)).length > 0 ? details[type] : details[type].optional(),
  ...(type === 'webhook' && { webhook_request: webhookRequest.optional() }),
});

/** What a notification of a type has, besides its destination. */
const optionsOf = (type: NotificationTypeId) => (type === 'webhook' ? { ordered: ordered.optional() } : {});

/** A destination to test. */
export const destination = selectedByType('Destination', 'A destination to test', (type) =>
  z.object(destinationOf(type)),
);

/** A notification to create. */
export const newNotification = selectedByType('NewNotification', 'A notification to create', (type) =>
  z.object({ label, ...destinationOf(type), metadata, ...optionsOf(type) }),
);

/** A notification. */
export const notification = selectedByType('Notification', 'A destination for alerts', (type) =>
  z.object({
    id: string('ID of the notification, assigned by the service'),
    label,
    ...destinationOf(type),
    details: details[type],
    metadata,
    ...optionsOf(type),
  }),
);
