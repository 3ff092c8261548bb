import { WEBHOOK_TOKEN } from '../../shared/contracts/account.ts';
import { webhookPayload } from '../../shared/contracts/alarm-event.ts';
import { schemaReference } from './common-schemas.ts';
import { exampleCredentials } from './resources/account.ts';
import { exampleEvent } from './webhook-payload.ts';

const description = [
  'The service POSTs each alert of a `webhook` notification to the URL of the notification. Its `webhook_request` can add headers and replace the body.',
  '',
  '**Verify the signature before you parse the body.** `webhook-signature` contains one or two signatures, separated by a space, each `v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`. The key is the base64-decoded part of a signing secret after `whsec_`. Accept the request if one signature is correct and the timestamp is at most five minutes old. This is [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0, whose libraries do all of it.',
  '',
  '**Discard duplicates.** All attempts of a delivery have the same `webhook-id`.',
  '',
  '**Respond within 15 seconds.** Only the status counts; the response body is ignored and redirects are not followed. A delivery has nine attempts over about eight hours.',
].join('\n');

/** The headers of a webhook, apart from those that every HTTP request has. A test compares them with a real webhook. */
const headers = [
  {
    name: 'user-agent',
    description: 'The service',
    schema: { type: 'string', const: 'monitoring-notifications/1' },
    example: 'monitoring-notifications/1',
  },
  {
    name: 'x-monitoring-webhook-token',
    description: 'The webhook token of the account, which identifies the service to the receiver',
    schema: { type: 'string', pattern: WEBHOOK_TOKEN.source },
    example: exampleCredentials.webhook_token,
  },
  {
    name: 'webhook-id',
    description: 'ID of the delivery, the same for all its attempts and redeliveries',
    schema: { type: 'string', pattern: '^msg_[A-Za-z0-9]+$' },
    example: 'msg_a356bf4c58f9a3225992dc2aae15a541',
  },
  {
    name: 'webhook-timestamp',
    description: 'Time of the attempt, in seconds since the Unix epoch',
    schema: { type: 'string', pattern: '^\\d{10,}$' },
    example: '1795295520',
  },
  {
    name: 'webhook-signature',
    description: 'The signatures: one, or two for 24 hours after a rotation of the signing secret',
    schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$' },
    example: 'v1,PfhG+Z5HjCZJcG9T0eLsxlom7N5r995zsj9Rd+ctZjI=',
  },
].map((header) => ({ ...header, in: 'header', required: true }));

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
      parameters: headers,
      requestBody: {
        required: true,
        description: 'The alert',
        content: {
          'application/json': {
            schema: schemaReference('WebhookPayload'),
            examples: { critical: { summary: 'A disk is full', value: webhookPayload(exampleEvent) } },
          },
        },
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
