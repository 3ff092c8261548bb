import * as z from 'zod';
import { MAX_TECHNICAL_CONTACTS, WEBHOOK_TOKEN } from '../../shared/contracts/account.ts';
import { alarmStates, tenantId } from '../../shared/contracts/alarm-event.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../shared/contracts/collection.ts';
import { errorStatus } from '../../shared/contracts/errors.ts';
import {
  MAX_DETAILS_VALUE_LENGTH,
  MAX_LABEL_LENGTH,
  MAX_METADATA_VALUE_LENGTH,
} from '../../shared/contracts/notification.ts';
import {
  byType,
  emailAddress,
  fieldsOf,
  type NotificationTypeId,
  notificationTypeIds,
} from '../../shared/contracts/notification-types.ts';
import { attemptResults, deliveryReasons, deliveryStatuses, failureReasons } from '../../shared/contracts/outcomes.ts';
import { MAX_EVENT_ID_LENGTH, MAX_TIME_MS, REDELIVERY_MARKER } from '../../shared/contracts/redelivery.ts';
import { MAX_ENTRIES, MAX_KEY_LENGTH } from '../../shared/contracts/text.ts';
import { DEFAULT_TOKEN_DAYS, MAX_TOKEN_DAYS, roles } from '../../shared/contracts/token.ts';
import { describedFields } from './notification-types.ts';

/*
 * The request parsers count code points and keep keys such as `__proto__`, so they are custom zod types, which have no
 * JSON Schema. The schemas below describe the same rules, with limits imported from the parsers.
 */

/** Returns a reference to a schema of the OpenAPI document. */
export const schemaReference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const text = (maxLength: number) => z.string().min(1).max(maxLength);
const integer = z.number().meta({ type: 'integer' });
const timestamp = (meaning: string) => integer.describe(`${meaning}, in milliseconds since the Unix epoch`);

const label = text(MAX_LABEL_LENGTH).describe('Friendly name');
const notificationId = z.string().describe('ID of the notification, assigned by the service');

const stringMap = (maxLength: number) =>
  z.record(text(MAX_KEY_LENGTH), text(maxLength)).meta({ maxProperties: MAX_ENTRIES });
const metadata = stringMap(MAX_METADATA_VALUE_LENGTH).optional().describe('Key/value pairs of your own');

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
const typeOf = (type: NotificationTypeId) => z.literal(type).describe('The notification type');
/** Requests may omit the `details` of a type without fields. */
const requestedDetails = (type: NotificationTypeId) =>
  Object.keys(fieldsOf(type)).length > 0 ? details[type] : details[type].optional();

const destinations = byType((type) =>
  z.object({ type: typeOf(type), details: requestedDetails(type) }).describe(`A destination of type \`${type}\``),
);
const newNotifications = byType((type) =>
  z
    .object({ label, type: typeOf(type), details: requestedDetails(type), metadata })
    .describe(`A new notification of type \`${type}\``),
);
const notifications = byType((type) =>
  z
    .object({ id: notificationId, label, type: typeOf(type), details: details[type], metadata })
    .describe(`A notification of type \`${type}\``),
);
const notification = selectedByType(notifications, 'Notification', 'A destination for alerts');

const typeId = z.enum(notificationTypeIds).describe('The notification type');
const notificationType = z
  .object({
    id: typeId,
    fields: z
      .array(
        z.object({
          name: z.string().describe('Name of the field in `details`'),
          description: z.string().describe('What the field contains'),
          optional: z.boolean().describe('Whether a notification can omit the field'),
        }),
      )
      .nullable()
      .describe('The fields of the type; null for a type without fields'),
  })
  .describe('A notification type with the fields that it needs');

const pageLimit = z.int().min(1).max(MAX_PAGE_LIMIT);
const collectionMetadata = z
  .object({
    count: integer.describe('Number of records in this page'),
    limit: pageLimit.describe('The page size'),
    marker: z.string().nullable().describe('The `marker` of the request; null for the first page'),
    next_marker: z.string().nullable().describe('The `marker` of the next page; null on the last page'),
    next_href: z.url().nullable().describe('The URL of the next page, with the same filters; null on the last page'),
  })
  .describe('The position of a page in its list. Follow `next_href` until it is null');
const collectionOf = (record: z.ZodType, what: string) =>
  z
    .object({ values: z.array(record).describe('The records of the page'), metadata: collectionMetadata })
    .describe(`A page of ${what}`);

const technicalContacts = z
  .array(emailAddress())
  .max(MAX_TECHNICAL_CONTACTS)
  .describe('Email addresses that receive the alerts of type `technicalContactsEmail`, and the notices of the service');
const webhookToken = z
  .string()
  .regex(WEBHOOK_TOKEN)
  .describe('The value of the header `x-monitoring-webhook-token` of each webhook: printable ASCII, without spaces');
const signingSecret = z.string().regex(/^whsec_/);

/** The limits of an account, each with a meaning that follows its name. */
const limitsOf = (meaning: string) => ({
  notifications: integer.describe(`Notifications, without the default notification: ${meaning}`),
  tests_per_day: integer.describe(`Test operations in a UTC day: ${meaning}`),
  redeliveries_per_day: integer.describe(`Redelivered deliveries in a UTC day: ${meaning}`),
  emails_per_day: integer.describe(`Attempts to email an alert in a UTC day, for each recipient: ${meaning}`),
  sms_per_day: integer.describe(`Attempts to send an alert by SMS in a UTC day: ${meaning}`),
  managed_per_day: integer.describe(`Attempts to send an alert to the operators in a UTC day: ${meaning}`),
  tokens: integer.describe(`Unexpired API tokens: ${meaning}`),
});

const account = z
  .object({
    id: z.string().describe('The tenant'),
    technical_contacts: technicalContacts,
    webhook_token: webhookToken.optional().describe('For admins only. The token that each webhook carries'),
    webhook_signing_secrets: z
      .array(signingSecret)
      .optional()
      .describe('For admins only: the current secret first, then the replaced one while it signs'),
    limits: z.object(limitsOf('the limit')).describe('The limits of the account'),
    usage: z
      .object({
        ...limitsOf('how many are used'),
        day_ends_at: timestamp('When the daily limits start again, at midnight UTC'),
      })
      .describe('How much of each limit is used'),
  })
  .describe('The account of a tenant');

const tokenAttributes = {
  id: z.string().describe('ID of the token, assigned by the service'),
  label: label.describe('What the token is for'),
  role: z.enum(roles).describe('What the token permits'),
  expires_at: timestamp('When the token expires'),
};
const token = z
  .object({ ...tokenAttributes, created_at: timestamp('When the token was created') })
  .describe('An API token, without the token itself');

const attempt = z
  .object({
    timestamp: timestamp('Start of the attempt'),
    result: z.enum(attemptResults).describe('The result; `throttled` and `transient` attempts are repeated'),
    status_code: integer.nullable().describe('HTTP status of the response; null if there was none'),
    reason: z.enum(failureReasons).nullable().describe('Why the attempt failed; null if it was delivered'),
    duration_ms: integer.describe('Duration of the attempt in milliseconds'),
  })
  .describe('An attempt to deliver an alert');

const listedDelivery = z
  .object({
    event_id: z.string().describe('ID of the alarm event'),
    entity_id: z.string().describe('ID of the entity'),
    alarm_id: z.string().describe('ID of the alarm'),
    state: z.enum(alarmStates).describe('State of the alarm'),
    status: z.enum(deliveryStatuses).describe('Status of the delivery'),
    reason: z
      .enum(deliveryReasons)
      .nullable()
      .describe(
        'Why the alert has not arrived; null if nothing failed. `older_timestamp`: it was superseded although the queue accepted it more than 60 s after the newer alert',
      ),
    event_timestamp: timestamp('The time of the event; only with the reason `older_timestamp`').optional(),
    newer_event_timestamp: timestamp(
      'The time of the newer event of the same incident, which the destination already had; only with the reason `older_timestamp`',
    ).optional(),
    attempts: z.array(attempt).describe('The last nine attempts, oldest first'),
    next_attempt_at: integer
      .nullable()
      .describe(
        'When the next attempt is due, in milliseconds since the Unix epoch; null unless `status` is `pending`',
      ),
    created_at: timestamp('When the service first processed the delivery'),
    updated_at: timestamp('When the last attempt ended or the status changed: the time of failure if it failed'),
  })
  .describe('One alarm event for one notification');

const singleRedelivery = z
  .object({
    event_id: text(MAX_EVENT_ID_LENGTH).describe('ID of the alarm event whose failed delivery is redelivered'),
  })
  .describe('Redelivers one delivery');
const rangeRedelivery = z
  .object({
    since: z
      .int()
      .min(0)
      .max(MAX_TIME_MS)
      .describe(
        'Redelivers all deliveries that failed at this time or later, in milliseconds since the Unix epoch; 0 means all',
      ),
    marker: z.string().regex(REDELIVERY_MARKER).optional().describe('The `next_marker` of the previous response'),
  })
  .describe('Redelivers all failures since a time');

const error = z
  .object({
    type: z.enum(Object.keys(errorStatus)).describe('The kind of error'),
    code: integer.describe('The HTTP status'),
    message: z.string().describe('What failed, in one sentence'),
    details: z.string().describe('Each invalid field with its rule, or the limit that is reached with its value'),
    request_id: z.string().describe('ID of the request, to quote to the operators'),
  })
  .describe('An error of the service');

const gatewayError = z
  .strictObject({ message: z.string().describe('The name of the HTTP status') })
  .describe('An error of the gateway in front of the service. Quote the response header `apigw-requestid`');

const state = z.enum(alarmStates).describe('State of the alarm');
/** A field that the service forwards without validating it. */
const forwarded = (meaning: string) => z.unknown().optional().describe(`${meaning}, as the producer sent it`);
const identified = z.string().min(1);

const webhookPayload = z
  .object({
    event_id: text(MAX_EVENT_ID_LENGTH).describe('ID of the event, unique in the account'),
    log_entry_id: z.unknown().describe('ID of the log entry, as the producer sent it; null if it sent none'),
    details: z
      .looseObject({
        state,
        status: forwarded('Text that explains the state'),
        timestamp: forwarded('When the state changed, in milliseconds since the Unix epoch'),
        target: forwarded('What was measured'),
        metrics: forwarded('The measured values by name, each with `type`, `data` and `unit`'),
        txnid: forwarded('ID of the measurement'),
        collector_address_v4: forwarded('IPv4 address of the collector'),
        collector_address_v6: forwarded('IPv6 address of the collector'),
        observations: forwarded('The state in each monitoring zone'),
      })
      .describe('The measurement. Only `state` is validated; other fields are forwarded unchanged'),
    entity: z
      .looseObject({ id: identified.describe('ID of the entity'), label: forwarded('Name of the entity') })
      .describe('The entity that caused the alert, as the producer sent it'),
    check: z.unknown().describe('The check that caused the alert, as the producer sent it; null if it sent none'),
    alarm: z
      .looseObject({ id: identified.describe('ID of the alarm'), label: forwarded('Name of the alarm') })
      .describe('The alarm that caused the alert, as the producer sent it'),
    tenant_id: tenantId.check(z.describe('The account')),
  })
  .describe('The body of a webhook. It always has these seven fields');

const components: Record<string, z.ZodType> = {
  Destination: selectedByType(destinations, 'Destination', 'A destination to test'),
  NewNotification: selectedByType(newNotifications, 'NewNotification', 'A notification to create'),
  NotificationChanges: z
    .object({
      label: label.optional(),
      type: typeId.optional(),
      details: stringMap(MAX_DETAILS_VALUE_LENGTH)
        .optional()
        .describe('Replaces all details. They must fit the type of the updated notification'),
      metadata: metadata.describe('Replaces all metadata'),
    })
    .describe('The attributes to change. The others keep their values'),
  Notification: notification,
  Notifications: collectionOf(notification, 'notifications'),
  NotificationType: notificationType,
  NotificationTypes: collectionOf(notificationType, 'notification types'),
  TestResult: z
    .object({
      status: z.enum(['success', 'failure']).describe('Whether the destination accepted the test message'),
      message: z.string().describe('What the destination did'),
    })
    .describe('The result of a test'),
  Delivery: listedDelivery,
  Deliveries: collectionOf(listedDelivery, 'deliveries'),
  Attempt: attempt,
  Redelivery: z
    .xor([singleRedelivery, rangeRedelivery])
    .describe('What to redeliver: exactly one of `event_id` and `since`'),
  SingleRedelivery: singleRedelivery,
  RangeRedelivery: rangeRedelivery,
  RedeliveryResult: z
    .object({
      count: integer.describe('Number of deliveries that were sent again'),
      next_marker: z
        .string()
        .nullable()
        .describe('The `marker` of the next request; null if all deliveries have been redelivered'),
    })
    .describe('What a redelivery sent'),
  Account: account,
  AccountChanges: z
    .object({
      technical_contacts: technicalContacts.optional(),
      webhook_token: webhookToken.optional(),
    })
    .describe('The attributes to change. The others keep their values'),
  SigningSecret: z
    .object({ webhook_signing_secret: signingSecret.describe('The new secret') })
    .describe('The signing secret of webhooks after a rotation'),
  NewToken: z
    .object({
      label: tokenAttributes.label,
      role: tokenAttributes.role,
      days: z.int().min(1).max(MAX_TOKEN_DAYS).default(DEFAULT_TOKEN_DAYS).describe('How many days it is valid'),
    })
    .describe('A token to create'),
  CreatedToken: z
    .object({ ...tokenAttributes, token: z.string().describe('The token. No other response contains it') })
    .describe('A new token'),
  Token: token,
  Tokens: collectionOf(token, 'tokens'),
  CollectionMetadata: collectionMetadata,
  WebhookPayload: webhookPayload,
  Error: error,
  GatewayError: gatewayError,
  ...named(details, 'Details'),
  ...named(destinations, 'Destination'),
  ...named(newNotifications, 'NewNotification'),
  ...named(notifications, 'Notification'),
};

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
