import * as z from 'zod';
import { MAX_CONCURRENT_TESTS } from '../../../shared/adapters/accounts/test-counter.ts';
import { alarmStates } from '../../../shared/contracts/alarm-event.ts';
import { parseDestination } from '../../../shared/contracts/notification.ts';
import { badRequest, testLimitReached, tooManyTests } from '../../../shared/domain/errors.ts';
import type { DescribedError } from '../error-responses.ts';
import { EXAMPLE_TIME_MS } from '../examples.ts';
import { exampleDetails } from '../notification-types.ts';
import { notJson, ok, type Resource, rejectedBody, unknownNotification } from '../operation.ts';
import { parameters } from '../parameters.ts';
import { destination, ofEachType } from '../typed-schemas.ts';

const noMoreTests: DescribedError = {
  when: 'The account has used its tests of the UTC day',
  error: testLimitReached(200, EXAMPLE_TIME_MS),
};

const tooManyAtOnce: DescribedError = {
  when: `The account runs ${MAX_CONCURRENT_TESTS} tests`,
  error: tooManyTests(MAX_CONCURRENT_TESTS),
};

const badState: DescribedError = {
  when: 'The state is invalid',
  error: badRequest(`state: must be one of ${alarmStates.join(', ')}`),
};

const testRan = ok('The test ran.', 'TestResult', {
  success: {
    summary: 'The destination accepted the message',
    value: { status: 'success', message: 'Success: Webhook successfully executed' },
  },
  failure: {
    summary: 'The destination failed',
    value: {
      status: 'failure',
      message: 'Unexpected status code "404". Expected one of: /2[0-9]{2}/',
      response_text: '{"error":"channel_not_found"}',
    },
  },
});

/** The operations that send test messages. */
export const testResource = {
  tag: { name: 'tests', description: 'Test messages, sent by the same servers as real alerts.' },
  schemas: {
    Destination: destination,
    TestResult: z
      .object({
        status: z.enum(['success', 'failure']).describe('Whether the destination accepted the test message'),
        message: z.string().describe('What the destination did'),
        response_text: z
          .string()
          .optional()
          .describe('The first 256 printable characters of a failed response, without secrets'),
      })
      .describe('The result of a test'),
  },
  operations: {
    'test-notification': {
      summary: 'Send a test message to a notification',
      details:
        'Sends one message like a real alert, without retries. If the destination fails, the status is 200 and the body says why.',
      query: [parameters.state],
      success: testRan,
      errors: [badState, unknownNotification, noMoreTests, tooManyAtOnce],
    },
    'test-new-notification': {
      summary: 'Send a test message to a destination before creating it',
      details:
        'Sends one message like a real alert, without retries. If the destination fails, the status is 200 and the body says why.',
      body: {
        schema: 'Destination',
        description: 'The destination. `type` selects the fields in `details`',
        examples: ofEachType((type) => ({ type, details: exampleDetails(type) })),
      },
      query: [parameters.state],
      success: testRan,
      errors: [
        rejectedBody(parseDestination({ type: 'email', details: { address: 'oncall' } })),
        notJson,
        badState,
        noMoreTests,
        tooManyAtOnce,
      ],
    },
  },
} as const satisfies Resource;
