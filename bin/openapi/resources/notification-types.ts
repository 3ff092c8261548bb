import * as z from 'zod';
import { notificationTypeRecord } from '../../../shared/contracts/notification-types.ts';
import { pageOf, type Resource } from '../operation.ts';
import { limit, markerLike } from '../parameters.ts';
import { component, nullable, string } from '../schemas.ts';
import { typeId } from '../typed-schemas.ts';

const field = z.object({
  name: string('Name of the field in `details`'),
  description: string('What the field contains'),
  optional: z.boolean().describe('Whether a notification can omit the field'),
});
const notificationType = component('NotificationType', 'A notification type with the fields that it needs', {
  id: typeId,
  fields: nullable(z.array(field), 'The fields of the type; null for a type without fields'),
});

/** The operations on notification types. */
export const notificationTypeResource = {
  tag: { name: 'notification types', description: 'The types of notifications and the fields that each type needs.' },
  operations: {
    'list-notification-types': {
      summary: 'List the notification types',
      details: 'Sorted by ID.',
      query: { limit, marker: markerLike('email') },
      response: pageOf('NotificationTypes', notificationType, notificationTypeRecord('atomfeed'), {
        of: 'notification types',
        path: '/notification_types',
        next: 'email',
      }),
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
