import * as z from 'zod';
import { MAX_CONCURRENT_TESTS } from '../../../shared/adapters/accounts/test-counter.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../../shared/api/request.ts';
import { MAX_BODY_BYTES } from '../../../shared/api/response.ts';
import { alarmStates } from '../../../shared/contracts/alarm-event.ts';
import { parseDestination, parseNotification } from '../../../shared/contracts/notification.ts';
import { notificationTypeRecord } from '../../../shared/contracts/notification-fields.ts';
import { byType, type NotificationTypeId } from '../../../shared/contracts/notification-types.ts';
import {
  attributes,
  type NotificationRecord,
  notification,
  notificationOf,
  notificationType,
  ownSecret,
  testResult,
} from '../../../shared/contracts/responses/notifications.ts';
import { collectionOf, text } from '../../../shared/contracts/responses/schemas.ts';
import { MASKED_VALUE, maskedRequest } from '../../../shared/contracts/webhook-request.ts';
import {
  badRequest,
  defaultNotificationFixed,
  idempotencyKeyReused,
  noSigningSecret,
  notificationLimitReached,
  notificationTooLarge,
  testLimitReached,
  tooManyTests,
  unconfirmedChange,
} from '../../../shared/domain/errors.ts';
import { defaultNotification } from '../../../shared/domain/notification.ts';
import { EXAMPLE_ID, EXAMPLE_TIME_MS, exampleDetails, exampleRequest, exampleSecret } from '../examples.ts';
import { type Body, limit, markerLike, pageOf, parameter, type Resource, rejectedBody } from '../operation.ts';

const exampleAttributes = (type: NotificationTypeId) => ({
  type,
  label: 'On call',
  details: exampleDetails[type],
  metadata: { team: 'ops' },
});
const exampleNotification = (type: NotificationTypeId): NotificationRecord => ({
  id: EXAMPLE_ID,
  ...exampleAttributes(type),
});

const fixedNotification = defaultNotificationFixed(defaultNotification.id);
const tooLarge = notificationTooLarge(MAX_BODY_BYTES);
const invalidNotification = rejectedBody(parseNotification({ type: 'webhook', details: { url: 'ftp://a.example' } }));

export const requestAttributes = attributes.omit({ id: true, stopped: true }).extend({
  ordered: z
    .boolean()
    .optional()
    .describe(attributes.shape.ordered.description ?? ''),
});

const newNotification = notificationOf('NewNotification', 'A notification to create', requestAttributes);

const { details, metadata, webhook_request } = requestAttributes.shape;
const notificationChanges = requestAttributes
  .partial()
  .extend({
    details: details.optional().describe('Replaces all details. They must fit the type of the updated notification'),
    metadata: metadata.describe('Replaces all metadata'),
    webhook_request: webhook_request.describe(
      `Replaces headers and body; {} removes them. \`${MASKED_VALUE}\` keeps the value of a header, unless the origin of \`details.url\` changes`,
    ),
  })
  .meta({ id: 'NotificationChanges', description: 'The attributes to change. The others keep their values' });

const representation: Body = {
  schema: notification,
  examples: { 'With `Prefer: return=representation`': exampleNotification('email') },
};

export const notificationResource = {
  tag: { name: 'notifications', description: 'Destinations for alerts: create, list, read, update and delete.' },
  operations: {
    'create-notification': {
      summary: 'Create a notification',
      details: '`Location` is the URL of the new notification.',
      headers: {
        'Idempotency-Key': parameter(
          text(MAX_IDEMPOTENCY_KEY_LENGTH),
          'If a request with the same key and body created a notification in the last 24 hours, the response is the same and nothing is created',
          '5f0c1d3e-8a57-4f43-9c8e-1d1d5a7a4c11',
        ),
      },
      request: {
        schema: newNotification,
        examples: {
          ...byType(exampleAttributes),
          'webhook with its own request': { ...exampleAttributes('webhook'), webhook_request: exampleRequest },
        },
      },
      status: 201,
      representation,
      hasLocation: true,
      errors: [invalidNotification, notificationLimitReached(1_000), tooLarge, idempotencyKeyReused()],
    },
    'list-notifications': {
      summary: 'List notifications',
      details: 'Sorted by ID, the default notification last. With `id`, only the notifications with these IDs.',
      query: {
        limit,
        marker: markerLike(EXAMPLE_ID),
        id: parameter(z.array(z.string()), 'Returns only the notifications with these IDs. Unknown IDs are omitted', [
          EXAMPLE_ID,
          'ntTechnicalContactsEmail',
        ]),
      },
      response: pageOf(
        collectionOf('Notifications', 'notifications', notification),
        exampleNotification('email'),
        '/notifications',
        defaultNotification.id,
      ),
    },
    'get-notification': {
      summary: 'Read a notification',
      response: {
        schema: notification,
        examples: {
          ...byType(exampleNotification),
          'webhook with its own request': {
            ...exampleNotification('webhook'),
            webhook_request: maskedRequest(exampleRequest),
          },
        },
      },
    },
    'update-notification': {
      summary: 'Update a notification in part',
      details:
        'Changes the attributes in the body. `details`, `metadata` and `webhook_request` are replaced as a whole, and the updated notification is validated. Another type has no `webhook_request`.',
      request: {
        schema: notificationChanges,
        examples: {
          'Changes only the label': { label: 'On call, primary' },
          'Changes the destination': { type: 'webhook', details: exampleDetails.webhook },
        },
      },
      representation,
      hasLocation: true,
      errors: [invalidNotification, fixedNotification, tooLarge],
    },
    'delete-notification': {
      summary: 'Delete a notification',
      details: 'Its pending deliveries end as `cancelled`. Its delivery history can still be read.',
      errors: [fixedNotification],
    },
    'create-signing-secret': {
      summary: 'Give a webhook a signing secret of its own',
      details:
        'Creates or replaces the secret, which no other request returns. It signs at once. For 24 hours what it replaces signs, too: the secret before or, for the first one, the account, whose token the requests then have.',
      response: { schema: ownSecret, examples: { 'The new secret': { secret: exampleSecret } } },
      errors: [noSigningSecret(), fixedNotification, unconfirmedChange()],
    },
    'delete-signing-secret': {
      summary: 'Delete the signing secret of a webhook',
      details: 'The account signs at once. For 24 hours the deleted secret signs, too.',
      errors: [noSigningSecret(), fixedNotification, unconfirmedChange()],
    },
  },
} as const satisfies Resource;

const destination = notificationOf(
  'Destination',
  'A destination to test',
  requestAttributes.pick({ type: true, details: true, webhook_request: true }),
);

const testOperation = {
  details:
    'Sends one message like a real alert, without retries. If the destination fails, the status is 200 and the body says why.',
  query: {
    state: parameter(
      z.enum(alarmStates).default('OK'),
      'The state of the test message: `CRITICAL` and `WARNING` open an incident, `OK` resolves it',
      'CRITICAL',
    ),
  },
  response: {
    schema: testResult,
    examples: {
      'The destination accepted the message': {
        status: 'success',
        message: 'Success: Webhook successfully executed',
      },
      'A webhook with its own request accepted the message': {
        status: 'success',
        message: 'Success: Webhook successfully executed',
        request: {
          method: 'POST',
          url: 'https://chat.example.com/hooks/7',
          headers: [
            'authorization',
            'content-type',
            'user-agent',
            'x-monitoring-webhook-token',
            'webhook-id',
            'webhook-timestamp',
          ],
          body: '{"text":"✅ [OK] Test entity: Test alarm","owner":null}',
        },
        warnings: ['{{entity.metadata.owner}} has no value in the test message'],
      },
      'The destination failed': {
        status: 'failure',
        message: 'Unexpected status code "404". Expected one of: /2[0-9]{2}/',
        response_text: '{"error":"channel_not_found"}',
      },
    },
  },
  errors: [
    badRequest(`state: must be one of ${alarmStates.join(', ')}`),
    testLimitReached(200, EXAMPLE_TIME_MS),
    tooManyTests(MAX_CONCURRENT_TESTS),
  ],
};

export const testResource = {
  tag: { name: 'tests', description: 'Test messages, sent by the same servers as real alerts.' },
  operations: {
    'test-notification': { ...testOperation, summary: 'Send a test message to a notification' },
    'test-new-notification': {
      ...testOperation,
      summary: 'Send a test message to a destination before creating it',
      request: { schema: destination, examples: byType((type) => ({ type, details: exampleDetails[type] })) },
      errors: [
        ...testOperation.errors,
        rejectedBody(parseDestination({ type: 'email', details: { address: 'oncall' } })),
      ],
    },
  },
} as const satisfies Resource;

export const notificationTypeResource = {
  tag: { name: 'notification types', description: 'The types of notifications and the fields that each type needs.' },
  operations: {
    'list-notification-types': {
      summary: 'List the notification types',
      details: 'Sorted by ID.',
      query: { limit, marker: markerLike('email') },
      response: pageOf(
        collectionOf('NotificationTypes', 'notification types', notificationType),
        notificationTypeRecord('atomfeed'),
        '/notification_types',
        'email',
      ),
    },
    'get-notification-type': {
      summary: 'Read a notification type',
      response: {
        schema: notificationType,
        examples: {
          'A type with two fields': notificationTypeRecord('incidentrouter'),
          'A type without fields': notificationTypeRecord('managed'),
        },
      },
    },
  },
} as const satisfies Resource;
