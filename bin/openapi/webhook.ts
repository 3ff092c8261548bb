import * as z from 'zod';
import { WEBHOOK_TOKEN } from '../../shared/contracts/account.ts';
import { alarmEvent, webhookPayload } from '../../shared/contracts/alarm-event.ts';
import { component } from '../../shared/contracts/responses/schemas.ts';
import { MAX_ATTEMPTS, RETRY_HOURS } from '../../shared/domain/retry-schedule.ts';
import { testEvent } from '../../shared/domain/test-event.ts';
import { SEND_TIMEOUT_MS } from '../../shared/domain/timeouts.ts';
import { webhookHeaders } from '../../shared/pipeline/transports/webhook.ts';
import { EXAMPLE_TIME_MS, exampleCredentials } from './examples.ts';
import { contentOf, parameter, parametersIn } from './operation.ts';

const description = [
  'The service POSTs each alert of a `webhook` notification to the URL of the notification. Its `webhook_request` can add headers and replace the body.',
  '**Verify the signature before you parse the body.** It is the proof of origin: every receiver of the account has the token. A body of `webhook_request` is signed only with the own secret of the notification. `webhook-signature` contains one or two signatures, separated by a space, each `v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`. The key is the base64-decoded part of a signing secret after `whsec_`. Accept the request if one signature is correct and the timestamp is at most five minutes old. This is [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0, whose libraries do all of it.',
  '**Discard duplicates.** All attempts of a delivery have the same `webhook-id`.',
  `**Respond within ${SEND_TIMEOUT_MS / 1000} seconds.** Only the status counts; the response body is ignored and redirects are not followed. A delivery has ${MAX_ATTEMPTS} attempts over about ${RETRY_HOURS} hours.`,
].join('\n\n');

/** A field that the service forwards without validating it. */
const forwarded = (meaning: string) => z.unknown().optional().describe(`${meaning}, as the producer sent it`);

const { event_id, tenant_id, details, entity, alarm } = alarmEvent.shape;

const payload = component('WebhookPayload', 'The body of a webhook. It always has these seven fields', {
  event_id: event_id.check(z.describe('ID of the event, unique in the account')),
  log_entry_id: z.unknown().describe('ID of the log entry, as the producer sent it; null if it sent none'),
  details: z
    .looseObject({
      state: details.shape.state.check(z.describe('State of the alarm')),
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
    .looseObject({
      id: entity.shape.id.check(z.describe('ID of the entity')),
      label: forwarded('Name of the entity'),
    })
    .describe('The entity that caused the alert, as the producer sent it'),
  check: z.unknown().describe('The check that caused the alert, as the producer sent it; null if it sent none'),
  alarm: z
    .looseObject({ id: alarm.shape.id.check(z.describe('ID of the alarm')), label: forwarded('Name of the alarm') })
    .describe('The alarm that caused the alert, as the producer sent it'),
  tenant_id: tenant_id.check(z.describe('The account')),
});

const examplePayload = webhookPayload(testEvent('acme', EXAMPLE_TIME_MS, 'CRITICAL'));
const { webhook_token: token, webhook_signing_secrets: secrets } = exampleCredentials;
const deliveryId = 'a356bf4c58f9a3225992dc2aae15a541';
const sent = webhookHeaders({ token, secrets }, deliveryId, EXAMPLE_TIME_MS, JSON.stringify(examplePayload));
const header = (name: string, schema: z.ZodType, description: string) => ({
  [name]: parameter(schema, description, sent[name]),
});

/** The headers of a webhook, apart from those that every HTTP request has. A test compares them with a real webhook. */
const headers = {
  ...header('user-agent', z.literal('monitoring-notifications/1'), 'The service'),
  ...header(
    'x-monitoring-webhook-token',
    z.string().regex(WEBHOOK_TOKEN),
    'The webhook token of the account, which identifies the service to the receiver',
  ),
  ...header(
    'webhook-id',
    z.string().regex(/^msg_[A-Za-z0-9]+$/),
    'ID of the delivery, the same for all its attempts and redeliveries',
  ),
  ...header('webhook-timestamp', z.string().regex(/^\d{10,}$/), 'Time of the attempt, in seconds since the Unix epoch'),
  ...header(
    'webhook-signature',
    z.string().regex(/^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$/),
    'The signatures: one, or two for 24 hours after a rotation of the signing secret',
  ),
};

const retryAfter = {
  'Retry-After': {
    description: 'Seconds or an HTTP date; the next attempt waits at least that long, at most an hour',
    schema: { type: 'string' },
    example: '120',
  },
};

/** The webhooks of the document: requests that the service sends. */
export const webhooks = {
  alert: {
    post: {
      operationId: 'receive-alert',
      tags: ['webhooks'],
      summary: 'Receive an alert',
      description,
      // The token of the webhook is not the token of the API.
      security: [],
      parameters: parametersIn('header', headers, true),
      requestBody: {
        required: true,
        content: contentOf({ schema: payload, examples: { 'A test message with the state CRITICAL': examplePayload } }),
      },
      responses: {
        '2XX': { description: 'The receiver has stored the alert. It is delivered and not sent again.' },
        '410': { description: 'The receiver wants no alerts at this URL. The delivery ends as `failed` at once.' },
        '429': {
          description: 'The receiver is busy. With `Retry-After` the attempt is repeated no earlier.',
          headers: retryAfter,
        },
        '503': {
          description: 'The receiver is unavailable. With `Retry-After` the attempt is repeated no earlier.',
          headers: retryAfter,
        },
        default: {
          description:
            'Anything else, such as a redirect, 401, 500 or no response: the attempt failed and is repeated, at most eight times.',
        },
      },
    },
  },
};
