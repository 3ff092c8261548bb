import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../shared/api/request.ts';
import { alarmStates } from '../../shared/contracts/alarm-event.ts';
import { MAX_AUDIT_TEXT_LENGTH } from '../../shared/contracts/audit.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { MAX_TIME_MS } from '../../shared/contracts/redelivery.ts';
import { limitParameterSchema } from './common-schemas.ts';
import { EXAMPLE_TIME_MS } from './examples.ts';

/** A parameter in the query or a header. */
export type Parameter = {
  name: string;
  in: 'query' | 'header';
  description: string;
  schema: object;
  example: unknown;
} & Record<string, unknown>;

/** The parameters of queries and headers, by name. `deliveryMarker` is also sent as `marker`. */
export const parameters = {
  limit: {
    name: 'limit',
    in: 'query',
    description: 'The maximum number of records in the page',
    schema: limitParameterSchema,
    example: 50,
  },
  marker: {
    name: 'marker',
    in: 'query',
    description: 'The `next_marker` of the previous page: the ID that the page starts with',
    schema: { type: 'string' },
    example: 'nt01M7W08F9Z4XGJJRVYEZQFE9R1',
  },
  deliveryMarker: {
    name: 'marker',
    in: 'query',
    description: 'The `next_marker` of the previous page: the page starts after it',
    schema: { type: 'string' },
    example: `${EXAMPLE_TIME_MS}-ca53741b6ee7fcaebe4347efc8329eb31a2ab78073dd868e187e362f13d4542e`,
  },
  auditMarker: {
    name: 'marker',
    in: 'query',
    description: 'The `next_marker` of the previous page: the ID that the page starts with',
    schema: { type: 'string' },
    example: 'au01M7W08F9SK1GM8Z4T5J2R6WQX',
  },
  reverse: {
    name: 'reverse',
    in: 'query',
    description: 'Returns the newest entry first if it is `true`, in any case',
    schema: { type: 'string', default: 'false' },
    example: 'true',
  },
  from: {
    name: 'from',
    in: 'query',
    description: 'Returns only the entries of this time and later, in milliseconds since the Unix epoch',
    schema: { type: 'integer', minimum: 0, maximum: MAX_TIME_MS },
    example: EXAMPLE_TIME_MS,
  },
  to: {
    name: 'to',
    in: 'query',
    description: 'Returns only the entries of this time and earlier, in milliseconds since the Unix epoch',
    schema: { type: 'integer', minimum: 0, maximum: MAX_TIME_MS },
    example: EXAMPLE_TIME_MS + 86_400_000,
  },
  issuedSince: {
    name: 'issued_since',
    in: 'query',
    description:
      'Also revokes what the token issued at this time and later, in milliseconds since the Unix epoch, what these tokens issued, and so on',
    schema: { type: 'integer', minimum: 0, maximum: MAX_TIME_MS },
    example: EXAMPLE_TIME_MS,
  },
  who: {
    name: '_who',
    in: 'query',
    description: `Who makes the change, for the audit; truncated to ${MAX_AUDIT_TEXT_LENGTH} characters`,
    schema: { type: 'string' },
    example: 'jane',
  },
  why: {
    name: '_why',
    in: 'query',
    description: `The reason of the change, for the audit; truncated to ${MAX_AUDIT_TEXT_LENGTH} characters`,
    schema: { type: 'string' },
    example: 'New on-call rotation',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'If a request with the same key and body created a notification in the last 24 hours, the response is the same and nothing is created',
    schema: { type: 'string', minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY_LENGTH },
    example: '5f0c1d3e-8a57-4f43-9c8e-1d1d5a7a4c11',
  },
  status: {
    name: 'status',
    in: 'query',
    description: 'Returns only the deliveries with this status',
    schema: { type: 'string', enum: deliveryStatuses },
    example: 'failed',
  },
  state: {
    name: 'state',
    in: 'query',
    description: 'The state of the test message: `CRITICAL` and `WARNING` open an incident, `OK` resolves it',
    schema: { type: 'string', enum: alarmStates, default: 'OK' },
    example: 'CRITICAL',
  },
  alarm_id: {
    name: 'alarm_id',
    in: 'query',
    description: 'Returns only the deliveries of this alarm',
    schema: { type: 'string', minLength: 1 },
    example: 'alDisk',
  },
  id: {
    name: 'id',
    in: 'query',
    description: 'Returns only the notifications with these IDs. Unknown IDs are omitted',
    schema: { type: 'array', items: { type: 'string' } },
    style: 'form',
    explode: true,
    example: ['nt01M7W08F9Z4XGJJRVYEZQFE9R1', 'ntTechnicalContactsEmail'],
  },
} as const satisfies Record<string, Parameter>;

/** What the parameters in paths are, with an example. */
export const pathParameters: Readonly<Record<string, { description: string; example: string }>> = {
  notificationId: { description: 'ID of the notification', example: 'nt01M7W08F9Z4XGJJRVYEZQFE9R1' },
  notificationTypeId: { description: 'ID of the notification type', example: 'webhook' },
  tokenId: { description: 'ID of the token', example: 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83' },
};
