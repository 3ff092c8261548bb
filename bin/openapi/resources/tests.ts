import * as z from 'zod';
import { MAX_CONCURRENT_TESTS } from '../../../shared/adapters/accounts/test-counter.ts';
import { alarmStates } from '../../../shared/contracts/alarm-event.ts';
import { parseDestination } from '../../../shared/contracts/notification.ts';
import { byType } from '../../../shared/contracts/notification-types.ts';
import { notificationOf, testResult } from '../../../shared/contracts/responses/notifications.ts';
import { badRequest, testLimitReached, tooManyTests } from '../../../shared/domain/errors.ts';
import { EXAMPLE_TIME_MS, exampleDetails } from '../examples.ts';
import { type Resource, rejectedBody } from '../operation.ts';
import { parameter } from '../schemas.ts';
import { requestAttributes } from './notifications.ts';

const destination = notificationOf(
  'Destination',
  'A destination to test',
  requestAttributes.pick({ type: true, details: true, webhook_request: true }),
);

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
    schema: testResult,
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
          headers: [
            'authorization',
            'content-type',
            'user-agent',
            'x-monitoring-webhook-token',
            'webhook-id',
            'webhook-timestamp',
          ],
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
