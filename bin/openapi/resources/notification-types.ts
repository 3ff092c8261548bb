import * as z from 'zod';
import { notificationTypeRecord } from '../../../shared/contracts/notification-types.ts';
import { notFound } from '../../../shared/domain/errors.ts';
import { collectionOf } from '../common-schemas.ts';
import { firstPage } from '../examples.ts';
import { badLimit, ok, type Resource } from '../operation.ts';
import { parameters } from '../parameters.ts';
import { typeId } from '../typed-schemas.ts';

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

/** The operations on notification types. */
export const notificationTypeResource = {
  tag: { name: 'notification types', description: 'The types of notifications and the fields that each type needs.' },
  schemas: {
    NotificationType: notificationType,
    NotificationTypes: collectionOf(notificationType, 'notification types'),
  },
  operations: {
    'list-notification-types': {
      summary: 'List the notification types',
      details: 'Sorted by ID.',
      query: [parameters.limit, parameters.marker],
      success: ok('A page of notification types.', 'NotificationTypes', {
        first: {
          summary: 'A page of one type',
          value: firstPage('/notification_types', notificationTypeRecord('atomfeed'), 'email'),
        },
      }),
      errors: [badLimit],
    },
    'get-notification-type': {
      summary: 'Read a notification type',
      success: ok('The notification type.', 'NotificationType', {
        incidentrouter: { summary: 'A type with two fields', value: notificationTypeRecord('incidentrouter') },
        managed: { summary: 'A type without fields', value: notificationTypeRecord('managed') },
      }),
      errors: [{ when: 'There is no notification type with this ID', error: notFound('The notification type') }],
    },
  },
} as const satisfies Resource;
