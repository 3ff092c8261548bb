import * as z from 'zod';
import { MAX_EVENT_ID_LENGTH, MAX_TIME_MS, MIN_TIME_MS } from '../../../shared/contracts/collection.ts';
import { deliveryStatuses } from '../../../shared/contracts/outcomes.ts';
import { parseRedelivery, REDELIVERY_MARKER } from '../../../shared/contracts/redelivery.ts';
import {
  delivery,
  type FoundDelivery,
  failures,
  foundDelivery,
  type ListedDelivery,
  type ListedFailures,
  redeliveryResult,
} from '../../../shared/contracts/responses/deliveries.ts';
import { collectionOf, component, text } from '../../../shared/contracts/responses/schemas.ts';
import { badRequest, notFound, redeliveryLimitReached } from '../../../shared/domain/errors.ts';
import { NOTHING_FAILED } from '../../../shared/domain/redelivery.ts';
import { EXAMPLE_ID, EXAMPLE_TIME_MS } from '../examples.ts';
import { limit, markerLike, pageOf, parameter, type Resource, rejectedBody, time } from '../operation.ts';

const EXAMPLE_EVENT_ID = `acme:enWeb1:alDisk:chDisk:${EXAMPLE_TIME_MS}:CRITICAL`;

const exampleFailures: ListedFailures = {
  notification_id: EXAMPLE_ID,
  notification_label: 'Chat room',
  type: 'webhook',
  failed: 12,
  first_failed_at: EXAMPLE_TIME_MS,
  last_failed_at: EXAMPLE_TIME_MS + 840_000,
  last_reason: 'http_status',
  last_delivered_at: EXAMPLE_TIME_MS + 901_000,
};

const singleRedelivery = component('SingleRedelivery', 'Redelivers one delivery', {
  event_id: text(MAX_EVENT_ID_LENGTH).describe('ID of the alarm event whose failed delivery is redelivered'),
  status: z.never().optional().describe('Absent: otherwise, it is a `RetryRequest`'),
});
const rangeRedelivery = component('RangeRedelivery', 'Redelivers all failures since a time', {
  since: z
    .union([z.literal(0), z.int().min(MIN_TIME_MS).max(MAX_TIME_MS)])
    .describe(
      'Redelivers all deliveries that failed at this time or later, in milliseconds since the Unix epoch; 0 means all',
    ),
  marker: z.string().regex(REDELIVERY_MARKER).optional().describe('The `next_marker` of the previous response'),
});
const retryRequest = component('RetryRequest', 'Makes the next attempts of waiting deliveries due now', {
  event_id: text(MAX_EVENT_ID_LENGTH).optional().describe('ID of the one alarm event; without it, of all deliveries'),
  status: z.literal('pending').describe('The status of the deliveries that are retried'),
  marker: z.string().regex(REDELIVERY_MARKER).optional().describe('The `next_marker` of the previous response'),
});

const exampleDelivery: ListedDelivery = {
  event_id: EXAMPLE_EVENT_ID,
  entity_id: 'enWeb1',
  alarm_id: 'alDisk',
  entity_label: 'web-1',
  alarm_label: 'Disk space',
  state: 'CRITICAL',
  status: 'pending',
  reason: 'http_status',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  attempts: [
    {
      timestamp: EXAMPLE_TIME_MS + 140,
      result: 'transient',
      status_code: 503,
      reason: 'http_status',
      response_text: 'Service Unavailable',
      duration_ms: 22,
    },
  ],
  accepted_at: EXAMPLE_TIME_MS + 90,
  next_attempt_at: EXAMPLE_TIME_MS + 5_310,
  created_at: EXAMPLE_TIME_MS + 111,
  updated_at: EXAMPLE_TIME_MS + 162,
};
const exampleFound: FoundDelivery = {
  notification_id: EXAMPLE_ID,
  notification_label: 'Chat room',
  type: 'webhook',
  ...exampleDelivery,
};
const deliveryMarker = `${EXAMPLE_TIME_MS}-ca53741b6ee7fcaebe4347efc8329eb31a2ab78073dd868e187e362f13d4542e`;
const redeliveryMarker = `${EXAMPLE_TIME_MS}-${deliveryMarker}`;

const markerAfter = (example: string) =>
  parameter(z.string(), 'The `next_marker` of the previous page: the page starts after it', example);

const selection = {
  event_id: parameter(
    text(MAX_EVENT_ID_LENGTH),
    'Returns only the delivery of this alarm event to each notification; not with the other filters',
    EXAMPLE_EVENT_ID,
  ),
  alarm_id: parameter(z.string().min(1), 'Returns only the deliveries of this alarm', 'alDisk'),
  entity_id: parameter(z.string().min(1), 'Returns only the deliveries of this entity', 'enWeb1'),
  from: time('Returns only the deliveries of events accepted at this time or later', EXAMPLE_TIME_MS),
  to: time('Returns only the deliveries of events accepted at this time or earlier', EXAMPLE_TIME_MS + 3_600_000),
  status: parameter(z.array(z.enum(deliveryStatuses)), 'Returns only the deliveries with one of these statuses', [
    'failed',
    'pending',
  ]),
};

const redelivery = z.xor([singleRedelivery, rangeRedelivery, retryRequest]).meta({
  id: 'Redelivery',
  description: 'What to redeliver: exactly one of `event_id`, `since` and `status`, or `event_id` and `status`',
});

export const deliveryResource = {
  tag: {
    name: 'deliveries',
    description: 'What happened to each alert of a notification, and redelivery of what failed.',
  },
  operations: {
    'list-deliveries': {
      summary: 'List the deliveries of a notification',
      details:
        'Newest first by the time in the event ID, of the last 30 days, also of a deleted notification. With a filter, a page can have fewer values than `limit`, or none, although `next_marker` is not null.',
      query: {
        limit,
        marker: markerAfter(deliveryMarker),
        ...selection,
      },
      response: pageOf(
        collectionOf('Deliveries', 'deliveries', delivery),
        exampleDelivery,
        `/notifications/${EXAMPLE_ID}/deliveries`,
        deliveryMarker,
      ),
      errors: [badRequest(`status: must be one of ${deliveryStatuses.join(', ')}`)],
    },
    'search-deliveries': {
      summary: 'Find deliveries across the notifications of the account',
      details:
        'By ID of the notification, then newest first by the time in the event ID, of the last 30 days. A request reads at most 25 notifications, and 1 MB of deliveries: a page can have fewer values than `limit`, or none, although `next_marker` is not null. Deleted notifications are found only with `event_id`, if another record of the event names them.',
      query: {
        limit,
        marker: markerAfter(`${EXAMPLE_ID}-${deliveryMarker}`),
        ...selection,
      },
      response: pageOf(
        collectionOf('FoundDeliveries', 'deliveries', foundDelivery),
        exampleFound,
        '/deliveries',
        `${EXAMPLE_ID}-${deliveryMarker}`,
      ),
      errors: [badRequest('event_id: must not be combined with status')],
    },
    'list-failures': {
      summary: 'List the notifications with failed or failing deliveries',
      details:
        'Those of which an attempt failed in the last 14 days, by ID. A page has at most 100 values, also if `limit` is higher.',
      query: { limit, marker: markerLike(EXAMPLE_ID) },
      response: pageOf(
        collectionOf('FailingNotifications', 'failing notifications', failures),
        exampleFailures,
        '/failures',
      ),
    },
    redeliver: {
      summary: 'Redeliver failed deliveries of a notification, or retry pending ones now',
      details:
        'Each failed delivery starts one new round of attempts, oldest failure first, up to 1,000 deliveries or 20 MB per request. Failures are kept for 14 days. With `status`, the next attempts of deliveries that wait for a retry become due now instead of later, at most once per delivery and hour: they are made within 15 minutes.',
      request: {
        schema: redelivery,
        examples: {
          'One delivery': { event_id: EXAMPLE_EVENT_ID },
          'All failures since a time': { since: EXAMPLE_TIME_MS },
          'The next attempts of all that wait for a retry': { status: 'pending' },
          'The next attempt of one event': { event_id: EXAMPLE_EVENT_ID, status: 'pending' },
          'The next part of a long redelivery': { since: EXAMPLE_TIME_MS, marker: redeliveryMarker },
        },
      },
      status: 202,
      response: {
        schema: redeliveryResult,
        examples: {
          'Everything was redelivered': { count: 1, next_marker: null },
          'Nothing was sent': { count: 0, next_marker: null, reason: NOTHING_FAILED },
          'There is more to redeliver': { count: 1_000, next_marker: redeliveryMarker },
        },
      },
      errors: [
        rejectedBody(parseRedelivery({})),
        notFound('The delivery'),
        redeliveryLimitReached(10_000, EXAMPLE_TIME_MS),
      ],
    },
  },
} as const satisfies Resource;
