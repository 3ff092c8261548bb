import * as z from 'zod';
import { MAX_TECHNICAL_CONTACTS, WEBHOOK_TOKEN } from './account.ts';
import { alarmStates } from './alarm-event.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from './collection.ts';
import { errorStatus } from './errors.ts';
import { testResult } from './messages.ts';
import { MAX_DETAILS_VALUE_LENGTH, MAX_LABEL_LENGTH, MAX_METADATA_VALUE_LENGTH } from './notification.ts';
import { emailAddress, fieldsOf, type NotificationTypeId, notificationTypeIds } from './notification-types.ts';
import { attemptResults, deliveryStatuses, failureReasons } from './outcomes.ts';
import { MAX_EVENT_ID_LENGTH, MAX_TIME_MS, REDELIVERY_MARKER } from './redelivery.ts';
import { MAX_ENTRIES, MAX_KEY_LENGTH } from './text.ts';
import { DEFAULT_TOKEN_DAYS, MAX_TOKEN_DAYS, roles } from './token.ts';

/*
 * The request parsers count code points and keep keys such as `__proto__`, so they are custom zod types, which have no
 * JSON Schema. The schemas below describe the same rules, with limits imported from the parsers.
 */

const text = (maxLength: number) => z.string().min(1).max(maxLength);
const integer = z.number().meta({ type: 'integer' });
const pageLimit = z.int().min(1).max(MAX_PAGE_LIMIT);
const typeId = z.enum(notificationTypeIds);

const stringMap = (maxLength: number) =>
  z.record(text(MAX_KEY_LENGTH), text(maxLength)).meta({ maxProperties: MAX_ENTRIES });

/** The `details` of a type: its fields, and any other entries. */
const detailsOf = (type: NotificationTypeId) => {
  const fields = Object.entries(fieldsOf(type)).map(([name, { description, rule, optional }]) => {
    const field = z.string().describe(`${description}: ${rule}`);
    return [name, optional ? field.optional() : field] as const;
  });
  const details = z
    .object(Object.fromEntries(fields))
    .catchall(text(MAX_DETAILS_VALUE_LENGTH))
    .meta({ maxProperties: MAX_ENTRIES, propertyNames: { minLength: 1, maxLength: MAX_KEY_LENGTH } });
  return fields.length > 0 ? details : details.optional();
};

const destinationOf = (type: NotificationTypeId) =>
  z.object({ type: z.literal(type), details: detailsOf(type) }).meta({ title: type });

const label = text(MAX_LABEL_LENGTH);
const metadata = stringMap(MAX_METADATA_VALUE_LENGTH).optional();
const details = stringMap(MAX_DETAILS_VALUE_LENGTH);

const collectionOf = (record: z.ZodType) =>
  z.object({
    values: z.array(record),
    metadata: z.object({
      count: integer,
      limit: pageLimit,
      marker: z.string().nullable(),
      next_marker: z.string().nullable(),
      next_href: z.url().nullable(),
    }),
  });

const destination = z.xor(notificationTypeIds.map(destinationOf));
const notification = z.object({ id: z.string(), label, metadata, type: typeId, details });
const notificationType = z.object({
  id: typeId,
  fields: z.array(z.object({ name: z.string(), description: z.string(), optional: z.boolean() })).nullable(),
});

const timestamp = integer.describe('ms since the epoch');
const technicalContacts = z.array(emailAddress).max(MAX_TECHNICAL_CONTACTS);
const webhookToken = z.string().regex(WEBHOOK_TOKEN);
const signingSecret = z.string().regex(/^whsec_/);
const limits = {
  notifications: integer,
  tests_per_day: integer,
  redeliveries_per_day: integer,
  emails_per_day: integer,
  sms_per_day: integer,
  managed_per_day: integer,
  tokens: integer,
};
const account = z.object({
  id: z.string(),
  technical_contacts: technicalContacts,
  webhook_token: webhookToken.optional().describe('For admins only'),
  webhook_signing_secrets: z
    .array(signingSecret)
    .optional()
    .describe('For admins only: the current secret first, then the replaced one while it signs'),
  limits: z.object(limits),
  usage: z.object({ ...limits, day_ends_at: timestamp }),
});
const tokenAttributes = { id: z.string(), label, role: z.enum(roles), expires_at: timestamp };
const token = z.object({ ...tokenAttributes, created_at: timestamp });
const reason = z.enum(failureReasons).nullable();

const listedDelivery = z.object({
  event_id: z.string(),
  entity_id: z.string(),
  alarm_id: z.string(),
  state: z.enum(alarmStates),
  status: z.enum(deliveryStatuses),
  reason: reason.describe('Why the delivery has not arrived'),
  attempts: z.array(
    z.object({
      timestamp: timestamp,
      result: z.enum(attemptResults),
      status_code: integer.nullable(),
      reason,
      duration_ms: integer,
    }),
  ),
  next_attempt_at: timestamp.nullable().describe('Null unless the delivery is pending'),
  created_at: timestamp,
  updated_at: timestamp.describe('The time of failure of a failed delivery'),
});

const redelivery = z.xor([
  z.object({ event_id: text(MAX_EVENT_ID_LENGTH) }).meta({ title: 'one delivery' }),
  z
    .object({
      since: z
        .int()
        .min(0)
        .max(MAX_TIME_MS)
        .describe('Time of failure from which on deliveries are redelivered, ms since the epoch'),
      marker: z.string().regex(REDELIVERY_MARKER).optional().describe('The next_marker of the previous response'),
    })
    .meta({ title: 'all failures since a time' }),
]);

const components = {
  Destination: destination,
  NewNotification: destination.and(z.object({ label, metadata })),
  NotificationChanges: z.object({ label, metadata, type: typeId, details }).partial(),
  Notification: notification,
  Notifications: collectionOf(notification),
  NotificationType: notificationType,
  NotificationTypes: collectionOf(notificationType),
  TestResult: testResult,
  Delivery: listedDelivery,
  Deliveries: collectionOf(listedDelivery),
  Redelivery: redelivery,
  RedeliveryResult: z.object({ count: integer, next_marker: z.string().nullable() }),
  Account: account,
  AccountChanges: z.object({ technical_contacts: technicalContacts, webhook_token: webhookToken }).partial(),
  SigningSecret: z.object({ webhook_signing_secret: signingSecret }),
  NewToken: z.object({
    label,
    role: z.enum(roles),
    days: z.int().min(1).max(MAX_TOKEN_DAYS).default(DEFAULT_TOKEN_DAYS),
  }),
  CreatedToken: z.object({ ...tokenAttributes, token: z.string() }),
  Token: token,
  Tokens: collectionOf(token),
  Error: z.object({
    type: z.enum(Object.keys(errorStatus)),
    code: integer,
    message: z.string(),
    details: z.string().describe('Names each field that failed, and its rule'),
    request_id: z.string(),
  }),
};

/** The name of a schema in the OpenAPI document. */
export type SchemaName = keyof typeof components;

/** Returns a reference to a schema of the OpenAPI document. */
export const schemaReference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const registry = z.registry<{ id: string }>();
for (const [id, schema] of Object.entries(components)) registry.add(schema, { id });

// With `$schema` and `$id`, each schema would be a separate document, and its references would not resolve.
const embedded = ({ $schema, $id, ...schema }: z.core.JSONSchema.BaseSchema) => schema;

/** The JSON Schemas of the OpenAPI document by name. */
export const componentSchemas = Object.fromEntries(
  Object.entries(z.toJSONSchema(registry, { io: 'input', uri: (id) => schemaReference(id).$ref }).schemas).map(
    ([name, schema]) => [name, embedded(schema)],
  ),
);

/** The JSON Schema of the query parameter `limit`. */
export const limitParameterSchema = embedded(z.toJSONSchema(pageLimit.default(DEFAULT_PAGE_LIMIT), { io: 'input' }));
