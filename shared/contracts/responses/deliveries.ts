import * as z from 'zod';
import { alarmStates } from '../alarm-event.ts';
import { notificationTypeIds } from '../notification-types.ts';
import { attemptResults, deliveryReasons, deliveryStatuses, failureReasons } from '../outcomes.ts';
import { component, integer, nullable, string, timestamp } from './schemas.ts';

const attempt = component('Attempt', 'An attempt to deliver an alert', {
  timestamp: timestamp('Start of the attempt'),
  result: z.enum(attemptResults).describe('The result; `throttled` and `transient` attempts are repeated'),
  status_code: nullable(integer, 'HTTP status of the response; null if there was none'),
  reason: nullable(z.enum(failureReasons), 'Why the attempt failed; null if it was delivered'),
  response_text: string(
    'The first 256 printable characters of a failed response, without secrets. Present if there are some, and the token has the role `admin` or `creator`',
  ).optional(),
  duration_ms: integer.describe('Duration of the attempt in milliseconds'),
});

/** docs/api.md#delivery-history */
export const delivery = component('Delivery', 'One alarm event for one notification', {
  event_id: string('ID of the alarm event'),
  entity_id: string('ID of the entity'),
  alarm_id: string('ID of the alarm'),
  entity_label: string('Label of the entity, at most 60 bytes; its ID if it has none'),
  alarm_label: string('Label of the alarm, at most 60 bytes; its ID if it has none'),
  state: z.enum(alarmStates).describe('State of the alarm'),
  status: z.enum(deliveryStatuses).describe('Status of the delivery'),
  reason: nullable(
    z.enum(deliveryReasons),
    'Why the alert has not arrived; null if nothing failed. `older_timestamp`: it was superseded although the queue accepted it more than 60 s after the newer alert',
  ),
  event_timestamp: timestamp('The time of the event; only with the reason `older_timestamp`').optional(),
  newer_event_timestamp: timestamp(
    'The time of the newer event of the same incident, which the destination already had; only with the reason `older_timestamp`',
  ).optional(),
  trace_id: z
    .string()
    .regex(/^[\da-f]{32}$/)
    .optional()
    .describe('ID of the trace of the alert (W3C Trace Context); only if its event has one'),
  summary_id: string('Event ID of the delivery that lists the alert; only with the status `summarized`').optional(),
  attempts: z.array(attempt).describe('The last nine attempts, oldest first'),
  accepted_at: timestamp('When the service accepted the event: `from` and `to` of a search').optional(),
  confirmed_at: timestamp(
    'When the server of the recipient accepted the email, of several technical contacts the last one that did; only for emails',
  ).optional(),
  delayed_at: timestamp(
    'When it was last reported that the server of a recipient has not yet accepted the email; only for emails',
  ).optional(),
  next_attempt_at: nullable(
    integer,
    'When the next attempt is due, in milliseconds since the Unix epoch; null unless `status` is `pending`',
  ),
  created_at: timestamp('When the service first processed the delivery'),
  updated_at: timestamp('When the last attempt ended or the status changed: the time of failure if it failed'),
});
export type ListedDelivery = z.infer<typeof delivery>;

const notification = {
  notification_id: string('ID of the notification'),
  notification_label: nullable(z.string(), 'Label of the notification; null if it was deleted or is unreadable'),
};

export const foundDelivery = component('FoundDelivery', 'One alarm event for one notification of the account', {
  ...notification,
  type: nullable(z.enum(notificationTypeIds), 'Type of the notification; null if it was deleted'),
  ...delivery.shape,
});
export type FoundDelivery = z.infer<typeof foundDelivery>;

/** docs/api.md#failures */
export const failures = component('Failures', 'What failed of a notification', {
  ...notification,
  type: z.enum(notificationTypeIds).describe('Type of the notification'),
  failed: integer.describe(
    'Number of alerts with a failed attempt since `first_failed_at`, each counted once, and again if it fails after a redelivery. In rare cases an alert is counted twice or not at all',
  ),
  first_failed_at: timestamp('When the first of these attempts failed'),
  last_failed_at: timestamp('When an attempt last failed'),
  last_reason: nullable(z.enum(failureReasons), 'Why the last attempt failed'),
  last_delivered_at: timestamp(
    'When an alert was last delivered after `first_failed_at`; only if one of the newest 20 deliveries, except summarized ones, was. Later than `last_failed_at` if the notification works again',
  ).optional(),
});
export type ListedFailures = z.infer<typeof failures>;

/** docs/api.md#redelivery */
export const redeliveryResult = component('RedeliveryResult', 'What a redelivery sent', {
  count: integer.describe('Number of deliveries that were sent again or become due'),
  next_marker: nullable(z.string(), 'The `marker` of the next request; null if all deliveries have been redelivered'),
  reason: string('Why nothing was sent, for people; only if `count` is 0').optional(),
});
export type RedeliveryResult = z.infer<typeof redeliveryResult>;
