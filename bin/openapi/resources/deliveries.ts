import * as z from 'zod';
import type { ListedFailures } from '../../../shared/api/failure-list.ts';
import { alarmStates } from '../../../shared/contracts/alarm-event.ts';
import { notificationTypeIds } from '../../../shared/contracts/notification-types.ts';
import {
  attemptResults,
  deliveryReasons,
  deliveryStatuses,
  failureReasons,
} from '../../../shared/contracts/outcomes.ts';
import {
  MAX_EVENT_ID_LENGTH,
  MAX_TIME_MS,
  MIN_TIME_MS,
  parseRedelivery,
  REDELIVERY_MARKER,
} from '../../../shared/contracts/redelivery.ts';
import type { ListedDelivery } from '../../../shared/domain/delivery-history.ts';
import { badRequest, notFound, redeliveryLimitReached } from '../../../shared/domain/errors.ts';
import { NOTHING_FAILED } from '../../../shared/domain/redelivery.ts';
import { collectionOf, integer, text, timestamp } from '../common-schemas.ts';
import { EXAMPLE_EVENT_ID, EXAMPLE_TIME_MS, firstPage, onlyPage } from '../examples.ts';
import { badLimit, notJson, ok, type Resource, rejectedBody, unknownNotification } from '../operation.ts';
import { parameters } from '../parameters.ts';

const attempt = z
  .object({
    timestamp: timestamp('Start of the attempt'),
    result: z.enum(attemptResults).describe('The result; `throttled` and `transient` attempts are repeated'),
    status_code: integer.nullable().describe('HTTP status of the response; null if there was none'),
    reason: z.enum(failureReasons).nullable().describe('Why the attempt failed; null if it was delivered'),
    response_text: z
      .string()
      .optional()
      .describe(
        'The first 256 printable characters of a failed response, without secrets. Present if there are some, and the token has the role `admin` or `creator`',
      ),
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
    trace_id: z
      .string()
      .regex(/^[\da-f]{32}$/)
      .optional()
      .describe('ID of the trace of the alert (W3C Trace Context); only if its event has one'),
    summary_id: z
      .string()
      .optional()
      .describe('Event ID of the delivery that lists the alert; only with the status `summarized`'),
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

const failures = z
  .object({
    notification_id: z.string().describe('ID of the notification'),
    type: z.enum(notificationTypeIds).describe('Type of the notification'),
    failed: integer.describe(
      'Number of alerts with a failed attempt since `first_failed_at`, each counted once, and again if it fails after a redelivery. In rare cases an alert is counted twice or not at all',
    ),
    first_failed_at: timestamp('When the first of these attempts failed'),
    last_failed_at: timestamp('When an attempt last failed'),
    last_reason: z.enum(failureReasons).nullable().describe('Why the last attempt failed'),
    last_delivered_at: timestamp(
      'When an alert was last delivered after `first_failed_at`; only if one of the newest 20 deliveries was. Later than `last_failed_at` if the notification works again',
    ).optional(),
  })
  .describe('What failed of a notification');

const exampleFailures: ListedFailures = {
  notification_id: 'nt01M7W08F9Z4XGJJRVYEZQFE9R1',
  type: 'webhook',
  failed: 12,
  first_failed_at: EXAMPLE_TIME_MS,
  last_failed_at: EXAMPLE_TIME_MS + 840_000,
  last_reason: 'http_status',
  last_delivered_at: EXAMPLE_TIME_MS + 901_000,
};

const singleRedelivery = z
  .object({
    event_id: text(MAX_EVENT_ID_LENGTH).describe('ID of the alarm event whose failed delivery is redelivered'),
  })
  .describe('Redelivers one delivery');
const rangeRedelivery = z
  .object({
    since: z
      .union([z.literal(0), z.int().min(MIN_TIME_MS).max(MAX_TIME_MS)])
      .describe(
        'Redelivers all deliveries that failed at this time or later, in milliseconds since the Unix epoch; 0 means all',
      ),
    marker: z.string().regex(REDELIVERY_MARKER).optional().describe('The `next_marker` of the previous response'),
  })
  .describe('Redelivers all failures since a time');
const retryRequest = z
  .object({
    status: z.literal('pending').describe('The status of the deliveries that are retried'),
    marker: z.string().regex(REDELIVERY_MARKER).optional().describe('The `next_marker` of the previous response'),
  })
  .describe('Makes the next attempts of all waiting deliveries due now');

const exampleAttempt = (startedAtMs: number, durationMs: number) =>
  ({
    timestamp: startedAtMs,
    result: 'transient',
    status_code: 503,
    reason: 'http_status',
    response_text: 'Service Unavailable',
    duration_ms: durationMs,
  }) as const;

const exampleDelivery: ListedDelivery = {
  event_id: EXAMPLE_EVENT_ID,
  entity_id: 'enWeb1',
  alarm_id: 'alDisk',
  state: 'CRITICAL',
  status: 'pending',
  reason: 'http_status',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  attempts: [exampleAttempt(EXAMPLE_TIME_MS + 140, 22), exampleAttempt(EXAMPLE_TIME_MS + 5_310, 23)],
  next_attempt_at: EXAMPLE_TIME_MS + 36_000,
  created_at: EXAMPLE_TIME_MS + 111,
  updated_at: EXAMPLE_TIME_MS + 5_333,
};
const deliveryMarker = `${EXAMPLE_TIME_MS}-ca53741b6ee7fcaebe4347efc8329eb31a2ab78073dd868e187e362f13d4542e`;

/** The operations on deliveries. */
export const deliveryResource = {
  tag: {
    name: 'deliveries',
    description: 'What happened to each alert of a notification, and redelivery of what failed.',
  },
  schemas: {
    Delivery: listedDelivery,
    Deliveries: collectionOf(listedDelivery, 'deliveries'),
    Attempt: attempt,
    Failures: failures,
    FailingNotifications: collectionOf(failures, 'failing notifications'),
    Redelivery: z
      .xor([singleRedelivery, rangeRedelivery, retryRequest])
      .describe('What to redeliver: exactly one of `event_id`, `since` and `status`'),
    SingleRedelivery: singleRedelivery,
    RangeRedelivery: rangeRedelivery,
    RetryRequest: retryRequest,
    RedeliveryResult: z
      .object({
        count: integer.describe('Number of deliveries that were sent again or become due'),
        next_marker: z
          .string()
          .nullable()
          .describe('The `marker` of the next request; null if all deliveries have been redelivered'),
        reason: z.string().optional().describe('Why nothing was sent, for people; only if `count` is 0'),
      })
      .describe('What a redelivery sent'),
  },
  operations: {
    'list-deliveries': {
      summary: 'List the deliveries of a notification',
      details:
        'Newest first by the time in the event ID, of the last 30 days, also of a deleted notification. With a filter, a page can have fewer values than `limit`, or none, although `next_marker` is not null.',
      isExtension: true,
      query: [parameters.limit, parameters.deliveryMarker, parameters.status, parameters.alarm_id],
      success: ok('A page of deliveries.', 'Deliveries', {
        pending: {
          summary: 'A page of one pending delivery',
          value: firstPage('/notifications/nt01M7W08F9Z4XGJJRVYEZQFE9R1/deliveries', exampleDelivery, deliveryMarker),
        },
      }),
      errors: [
        { when: 'A filter is invalid', error: badRequest(`status: must be one of ${deliveryStatuses.join(', ')}`) },
        badLimit,
        { when: 'The account has neither the notification nor a delivery of it', error: notFound('The notification') },
      ],
    },
    'list-failures': {
      summary: 'List the notifications with failed or failing deliveries',
      details:
        'Those of which an attempt failed in the last 14 days, by ID. A page has at most 100 values, also if `limit` is higher.',
      isExtension: true,
      query: [parameters.limit, parameters.marker],
      success: ok('A page of failing notifications.', 'FailingNotifications', {
        recovered: { summary: 'A notification that works again', value: onlyPage('/failures', [exampleFailures]) },
      }),
      errors: [badLimit],
    },
    redeliver: {
      summary: 'Redeliver failed deliveries of a notification, or retry pending ones now',
      details:
        'Each failed delivery starts one new round of attempts, oldest failure first, up to 1,000 deliveries or 20 MB per request. Failures are kept for 14 days. With `status`, the next attempts of deliveries that wait for a retry become due now instead of later, at most once per delivery and hour: they are made within 15 minutes.',
      isExtension: true,
      body: {
        schema: 'Redelivery',
        description: 'What to redeliver',
        examples: {
          event: { summary: 'One delivery', value: { event_id: EXAMPLE_EVENT_ID } },
          since: { summary: 'All failures since a time', value: { since: EXAMPLE_TIME_MS } },
          pending: { summary: 'The next attempts of all that wait for a retry', value: { status: 'pending' } },
          continued: {
            summary: 'The next part of a long redelivery',
            value: { since: EXAMPLE_TIME_MS, marker: `${EXAMPLE_TIME_MS}-${deliveryMarker}` },
          },
        },
      },
      success: {
        status: 202,
        description: 'The deliveries start a new round, or become due.',
        schema: 'RedeliveryResult',
        examples: {
          done: { summary: 'Everything was redelivered', value: { count: 1, next_marker: null } },
          nothing: { summary: 'Nothing was sent', value: { count: 0, next_marker: null, reason: NOTHING_FAILED } },
          more: {
            summary: 'There is more to redeliver',
            value: { count: 1_000, next_marker: `${EXAMPLE_TIME_MS}-${deliveryMarker}` },
          },
        },
      },
      errors: [
        rejectedBody(parseRedelivery({})),
        notJson,
        unknownNotification,
        { when: 'The notification has no delivery of this event', error: notFound('The delivery') },
        {
          when: 'The account has used its redeliveries of the UTC day',
          error: redeliveryLimitReached(10_000, EXAMPLE_TIME_MS),
        },
      ],
    },
  },
} as const satisfies Resource;
