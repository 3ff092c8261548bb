import * as z from 'zod';
import { MAX_CONCURRENT_TESTS } from '../../../shared/adapters/accounts/test-counter.ts';
import { alarmStates } from '../../../shared/contracts/alarm-event.ts';
import { parseDestination } from '../../../shared/contracts/notification.ts';
import { byType } from '../../../shared/contracts/notification-types.ts';
import { badRequest, testLimitReached, tooManyTests } from '../../../shared/domain/errors.ts';
import { exampleDetails } from '../notification-types.ts';
import { EXAMPLE_TIME_MS, type Resource, rejectedBody } from '../operation.ts';
import { component, parameter, string } from '../schemas.ts';
import { destination } from '../typed-schemas.ts';

const sentRequest = component('SentRequest', 'The request of a test, without values of headers', {
  method: z.literal('POST').describe('The method'),
  url: string('The URL without user, password and query'),
  headers: z.array(z.string()).describe('The names of the headers'),
  body: string(
    'The first 4 KB of the body, with `***` instead of user, password and query of the URL; absent if these are too long',
  ).optional(),
});

const result = component('TestResult', 'The result of a test', {
  status: z.enum(['success', 'failure']).describe('Whether the destination accepted the test message'),
  message: string('What the destination did'),
  response_text: string('The first 256 printable characters of a failed response, without secrets').optional(),
  request: sentRequest.optional().describe('What was sent; only to a webhook with a `webhook_request`'),
  warnings: z
    .array(z.string())
    .optional()
    .describe('The placeholders of `webhook_request` without a value in the test message; present if there are some'),
});

const signatureHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];

/** What both operations have. */
const test = {
  details:
    'Sends one message like a real alert, without retries. If the destination fails, the status is 200 and the body says why.',
  query: {
    state: parameter(
      z.enum(alarmStates).default('OK'),
      'The state of the test message: `CRITICAL` and `WARNING` open an incident, `OK` resolves it',
      'CRITICAL',
    ),
  },
  response: {
    schema: result,
    examples: {
      'The destination accepted the message': {
        status: 'success',
        message: 'Success: Webhook successfully executed',
      },
      'A webhook with its own request accepted the message': {
        status: 'success',
        message: 'Success: Webhook successfully executed',
        request: {
          method: 'POST',
          url: 'https://chat.example.com/hooks/7',
          headers: ['authorization', 'content-type', 'user-agent', 'x-monitoring-webhook-token', ...signatureHeaders],
          body: '{"text":"✅ [OK] Test entity: Test alarm","owner":null}',
        },
        warnings: ['{{entity.metadata.owner}} has no value in the test message'],
      },
      'The destination failed': {
        status: 'failure',
        message: 'Unexpected status code "404". Expected one of: /2[0-9]{2}/',
        response_text: '{"error":"channel_not_found"}',
      },
    },
  },
  errors: [
    badRequest(`state: must be one of ${alarmStates.join(', ')}`),
    testLimitReached(200, EXAMPLE_TIME_MS),
    tooManyTests(MAX_CONCURRENT_TESTS),
  ],
};

/** The operations that send test messages. */
export const testResource = {
  tag: { name: 'tests', description: 'Test messages, sent by the same servers as real alerts.' },
  operations: {
    'test-notification': { ...test, summary: 'Send a test message to a notification' },
    'test-new-notification': {
      ...test,
      summary: 'Send a test message to a destination before creating it',
      request: { schema: destination, examples: byType((type) => ({ type, details: exampleDetails[type] })) },
      errors: [...test.errors, rejectedBody(parseDestination({ type: 'email', details: { address: 'oncall' } }))],
    },
  },
} as const satisfies Resource;
