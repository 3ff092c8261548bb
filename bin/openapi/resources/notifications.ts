import * as z from 'zod';
import { MAX_BODY_BYTES } from '../../../shared/api/response.ts';
import {
  MAX_DETAILS_VALUE_LENGTH,
  type NotificationRecord,
  parseNotification,
} from '../../../shared/contracts/notification.ts';
import type { NotificationTypeId } from '../../../shared/contracts/notification-types.ts';
import { MASKED_VALUE, maskedRequest } from '../../../shared/contracts/webhook-request.ts';
import {
  defaultNotificationFixed,
  idempotencyKeyReused,
  notificationLimitReached,
  notificationTooLarge,
} from '../../../shared/domain/errors.ts';
import { defaultNotification } from '../../../shared/domain/notification.ts';
import { collectionOf, label } from '../common-schemas.ts';
import type { DescribedError } from '../error-responses.ts';
import { firstPage, onlyPage } from '../examples.ts';
import { describedTypes, exampleDetails } from '../notification-types.ts';
import { badLimit, notJson, ok, type Resource, rejectedBody, unknownNotification } from '../operation.ts';
import { parameters } from '../parameters.ts';
import { metadata, newNotification, notification, ofEachType, stringMap, typeId } from '../typed-schemas.ts';
import { exampleRequest, webhookRequest } from '../webhook-request.ts';

const exampleNotification = (type: NotificationTypeId): NotificationRecord => ({
  id: 'nt01M7W08F9Z4XGJJRVYEZQFE9R1',
  type,
  label: describedTypes[type].label,
  details: exampleDetails(type),
  metadata: { team: 'ops' },
});

const fixedNotification: DescribedError = {
  when: 'The default notification cannot be changed',
  error: defaultNotificationFixed(defaultNotification.id),
};
const tooLarge: DescribedError = {
  when: 'The notification would not fit into a response',
  error: notificationTooLarge(MAX_BODY_BYTES),
};
const invalidNotification = rejectedBody(parseNotification({ type: 'webhook', details: { url: 'ftp://a.example' } }));

/** The operations on notifications. */
export const notificationResource = {
  tag: { name: 'notifications', description: 'Destinations for alerts: create, list, read, update and delete.' },
  schemas: {
    NewNotification: newNotification,
    NotificationChanges: z
      .object({
        label: label.optional(),
        type: typeId.optional(),
        details: stringMap(MAX_DETAILS_VALUE_LENGTH)
          .optional()
          .describe('Replaces all details. They must fit the type of the updated notification'),
        metadata: metadata.describe('Replaces all metadata'),
        webhook_request: webhookRequest
          .optional()
          .describe(
            `Replaces headers and body; {} removes them. \`${MASKED_VALUE}\` keeps the value of a header, unless the origin of \`details.url\` changes`,
          ),
      })
      .describe('The attributes to change. The others keep their values'),
    Notification: notification,
    Notifications: collectionOf(notification, 'notifications'),
  },
  operations: {
    'create-notification': {
      summary: 'Create a notification',
      details: 'The response has no body; `Location` is the URL of the new notification.',
      query: [parameters.idempotencyKey],
      body: {
        schema: 'NewNotification',
        description: 'The notification. `type` selects the fields in `details`',
        examples: {
          ...ofEachType((type) => ({
            label: describedTypes[type].label,
            type,
            details: exampleDetails(type),
            metadata: { team: 'ops' },
          })),
          'webhook with its own request': {
            summary: 'Type webhook, with headers and a body of its own',
            value: {
              label: 'Chat',
              type: 'webhook',
              details: exampleDetails('webhook'),
              webhook_request: exampleRequest,
            },
          },
        },
      },
      success: { status: 201, description: 'The notification was created.', hasLocation: true },
      errors: [
        invalidNotification,
        notJson,
        { when: 'The account has as many notifications as it may have', error: notificationLimitReached(1_000) },
        tooLarge,
        { when: 'The `Idempotency-Key` was used with another body', error: idempotencyKeyReused() },
      ],
    },
    'list-notifications': {
      summary: 'List notifications',
      details: 'Sorted by ID, the default notification last. With `id`, only the notifications with these IDs.',
      query: [parameters.limit, parameters.marker, parameters.id],
      success: ok('A page of notifications.', 'Notifications', {
        first: {
          summary: 'A page of one notification',
          value: firstPage('/notifications', exampleNotification('email'), defaultNotification.id),
        },
        last: {
          summary: 'The last page',
          value: onlyPage('/notifications', [exampleNotification('webhook'), defaultNotification]),
        },
      }),
      errors: [badLimit],
    },
    'get-notification': {
      summary: 'Read a notification',
      success: ok('The notification.', 'Notification', {
        ...ofEachType(exampleNotification),
        'webhook with its own request': {
          summary: 'Type webhook, with headers and a body of its own',
          value: { ...exampleNotification('webhook'), webhook_request: maskedRequest(exampleRequest) },
        },
      }),
      errors: [unknownNotification],
    },
    'update-notification': {
      summary: 'Update a notification in part',
      details:
        'Changes the attributes in the body. `details`, `metadata` and `webhook_request` are replaced as a whole, and the updated notification is validated. Another type has no `webhook_request`.',
      body: {
        schema: 'NotificationChanges',
        description: 'The attributes to change',
        examples: {
          label: { summary: 'Changes only the label', value: { label: 'On call, primary' } },
          destination: {
            summary: 'Changes the destination',
            value: { type: 'webhook', details: exampleDetails('webhook') },
          },
        },
      },
      success: { status: 204, description: 'The notification was updated.', hasLocation: true },
      errors: [invalidNotification, notJson, fixedNotification, unknownNotification, tooLarge],
    },
    'delete-notification': {
      summary: 'Delete a notification',
      details: 'Its pending deliveries end as `cancelled`. Its delivery history can still be read.',
      success: { status: 204, description: 'The notification was deleted.' },
      errors: [fixedNotification, unknownNotification],
    },
  },
} as const satisfies Resource;
