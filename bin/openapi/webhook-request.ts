import * as z from 'zod';
import {
  HEADER_NAME,
  HEADER_VALUE,
  MASKED_VALUE,
  MAX_HEADER_LENGTH,
  MAX_HEADERS,
  MAX_REQUEST_BYTES,
  reservedHeaders,
} from '../../shared/contracts/webhook-request.ts';

/** The parser also rejects reserved names in other cases, two names that differ only in case, and invalid placeholders. */
const headers = z
  .record(z.string(), z.string().max(MAX_HEADER_LENGTH).regex(HEADER_VALUE))
  .meta({
    maxProperties: MAX_HEADERS,
    propertyNames: { pattern: HEADER_NAME.source, not: { enum: reservedHeaders } },
  })
  .optional()
  .describe(
    `Headers to add, except ${reservedHeaders.join(', ')}. Values are secrets: responses have \`${MASKED_VALUE}\`, which an update keeps`,
  );

/** The request of a webhook notification. */
export const webhookRequest = z
  .strictObject({
    headers,
    body: z
      .unknown()
      .optional()
      .describe('The body to send: JSON whose texts may contain placeholders such as `{{alert.title}}`'),
  })
  .meta({
    id: 'WebhookRequest',
    description: `Headers and body of the requests, at most ${MAX_REQUEST_BYTES} bytes as JSON. Without \`body\`, the webhook payload is sent. An empty object removes both`,
  });

/** The `webhook_request` of the examples. */
export const exampleRequest = {
  headers: { authorization: 'Bearer 2d0c5c1e7a' },
  body: { text: '{{alert.emoji}} {{alert.title}}', incident: '{{alert.incident_key}}', metrics: '{{details.metrics}}' },
};
