import * as z from 'zod';
import { MAX_DETAILS_VALUE_LENGTH, MAX_METADATA_VALUE_LENGTH } from '../notification.ts';
import { fieldsOf } from '../notification-fields.ts';
import { byType, type NotificationTypeId, notificationTypeIds } from '../notification-types.ts';
import { stopReasons } from '../outcomes.ts';
import { MAX_ENTRIES, MAX_KEY_LENGTH, MAX_LABEL_LENGTH } from '../text.ts';
import { MASKED_VALUE } from '../webhook-request.ts';
import {
  HEADER_NAME,
  HEADER_VALUE,
  MAX_HEADER_LENGTH,
  MAX_HEADERS,
  MAX_REQUEST_BYTES,
  reservedHeaders,
} from '../webhook-request-rules.ts';
import { component, integer, nullable, string, text, timestamp } from './schemas.ts';

/** The values have at most `maxLength` code points. */
export const stringMap = (maxLength: number) =>
  z.record(text(MAX_KEY_LENGTH), text(maxLength)).meta({ maxProperties: MAX_ENTRIES });

/** The parser also rejects reserved names in any case, names that differ only in case, and invalid placeholders. */
const headers = z
  .record(z.string(), z.string().max(MAX_HEADER_LENGTH).regex(HEADER_VALUE))
  .meta({
    maxProperties: MAX_HEADERS,
    propertyNames: { pattern: HEADER_NAME.source, not: { enum: reservedHeaders } },
  })
  .optional()
  .describe(
    `Headers to add, except ${reservedHeaders.join(', ')}. Values are secrets: responses have \`${MASKED_VALUE}\`, which an update keeps`,
  );

const webhookRequest = z
  .strictObject({
    headers,
    body: z
      .unknown()
      .optional()
      .describe('The body to send: JSON whose texts may contain placeholders such as `{{alert.title}}`'),
  })
  .meta({
    id: 'WebhookRequest',
    description: `Headers and body of the requests, at most ${MAX_REQUEST_BYTES} bytes as JSON. Without \`body\`, the webhook payload is sent. An empty object removes both`,
  });

/** Returns a name such as `WebhookDetails`. */
const nameOf = (type: NotificationTypeId, group: string): string =>
  `${type.charAt(0).toUpperCase()}${type.slice(1)}${group}`;

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

export const attributes = z.object({
  id: string('ID of the notification, assigned by the service'),
  label: text(MAX_LABEL_LENGTH).describe('Friendly name'),
  type: z.enum(notificationTypeIds).describe('The notification type'),
  details: stringMap(MAX_DETAILS_VALUE_LENGTH),
  webhook_request: webhookRequest.optional(),
  metadata: stringMap(MAX_METADATA_VALUE_LENGTH).optional().describe('Key/value pairs of your own'),
  ordered: z
    .literal(true)
    .optional()
    .describe(
      'True: no older state of an alarm is sent after a newer one, and an alert waits while another one of its alarm is sent. Returned only if true',
    ),
  muted_until: integer
    .optional()
    .describe(
      'Until when alerts are not sent, in milliseconds since the Unix epoch, at most a year ahead. A time that has passed, such as 0, ends the mute. Returned while it lasts',
    ),
  stopped: z
    .object({ reason: z.enum(stopReasons).describe('Why'), since: timestamp('Since when') })
    .optional()
    .describe('Present only in the response with one notification, and only while nothing is sent to its address'),
});

/** The values of the headers in `webhook_request` are masked. */
export type NotificationRecord = z.infer<typeof attributes>;

const ofType: Readonly<Record<string, NotificationTypeId>> = {
  webhook_request: 'webhook',
  ordered: 'webhook',
  stopped: 'email',
} satisfies { [Name in keyof NotificationRecord]?: NotificationTypeId };

/** `type` selects the schema. Without an ID it is a request. @param group the suffix of the names of the schemas */
export const notificationOf = (group: string, description: string, { shape }: z.ZodObject) => {
  const schemas = notificationTypeIds.map((type) => {
    const isOptional = !('id' in shape) && Object.keys(fieldsOf(type)).length === 0;
    const properties = {
      ...shape,
      type: z.literal(type).describe('The notification type'),
      details: isOptional ? details[type].optional() : details[type],
    };
    const present = Object.entries(properties).filter(([name]) => (ofType[name] ?? type) === type);
    return z
      .object(Object.fromEntries(present))
      .meta({ id: nameOf(type, group), description: `${description}, of type \`${type}\`` });
  });
  const mapping = byType((type) => `#/components/schemas/${nameOf(type, group)}`);
  return z.xor(schemas).meta({ id: group, description, discriminator: { propertyName: 'type', mapping } });
};

export const notification = notificationOf('Notification', 'A destination for alerts', attributes);

/** docs/api.md#details-by-type */
export const notificationType = component('NotificationType', 'A notification type with the fields that it needs', {
  id: attributes.shape.type,
  fields: nullable(
    z.array(
      z.object({
        name: string('Name of the field in `details`'),
        description: string('What the field contains'),
        optional: z.boolean().describe('Whether a notification can omit the field'),
      }),
    ),
    'The fields of the type; null for a type without fields',
  ),
});

const sentRequest = component('SentRequest', 'The request of a test, without values of headers', {
  method: z.literal('POST').describe('The method'),
  url: string('The URL without user, password and query'),
  headers: z.array(z.string()).describe('The names of the headers'),
  body: string(
    'The first 4 KB of the body, or `(not shown: it contains a secret)` if it repeats user, password or query of the URL',
  ).optional(),
});

export type SentRequest = z.infer<typeof sentRequest>;

/** docs/api.md#test-operations */
export const testResult = component('TestResult', 'The result of a test', {
  status: z.enum(['success', 'failure']).describe('Whether the destination accepted the test message'),
  message: string('What the destination did'),
  response_text: string('The first 256 printable characters of a failed response, without secrets').optional(),
  request: sentRequest.optional().describe('What was sent; only to a webhook with a `webhook_request`'),
  warnings: z
    .array(z.string())
    .optional()
    .describe('The placeholders of `webhook_request` without a value in the test message; present if there are some'),
});
export type TestResult = z.infer<typeof testResult>;

export const ownSecret = component('OwnSigningSecret', 'The signing secret of a webhook of its own', {
  secret: string('The key that signs the requests of this webhook, as Standard Webhooks writes it'),
});
export type OwnSecret = z.infer<typeof ownSecret>;
