import { notificationTypeRecord } from '../../../shared/contracts/notification-types.ts';
import { notificationType } from '../../../shared/contracts/responses/notifications.ts';
import { collectionOf } from '../../../shared/contracts/responses/schemas.ts';
import { pageOf, type Resource } from '../operation.ts';
import { limit, markerLike } from '../parameters.ts';

/** The operations on notification types. */
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
