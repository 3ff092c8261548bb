import { MAX_BODY_BYTES } from '../../shared/api/response.ts';
import { parseAccountChanges } from '../../shared/contracts/account.ts';
import type { EndpointName } from '../../shared/contracts/endpoints.ts';
import { parseDestination, parseNotification } from '../../shared/contracts/notification.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { parseRedelivery } from '../../shared/contracts/redelivery.ts';
import { describeIssues } from '../../shared/contracts/text.ts';
import { MAX_TOKENS, parseNewToken } from '../../shared/contracts/token.ts';
import {
  badRequest,
  defaultNotificationFixed,
  invalidLimit,
  lastAdminToken,
  notFound,
  notificationLimitReached,
  notificationTooLarge,
  redeliveryLimitReached,
  testLimitReached,
  tokenLimitReached,
  unconfirmedChange,
} from '../../shared/domain/errors.ts';
import { defaultNotification } from '../../shared/domain/notification.ts';
import type { DescribedError } from './error-responses.ts';
import { EXAMPLE_TIME_MS, type requestExamples, type responseExamples } from './examples.ts';
import type { parameters } from './parameters.ts';
import type { TagName } from './tags.ts';

/** The parts of an operation that the table of endpoints lacks. */
export type Operation = {
  summary: string;
  /** What the operation does beyond its summary. */
  details?: string;
  tag: TagName;
  /** Whether the operation extends the interface that was specified before this service. */
  isExtension?: true;
  query?: readonly (keyof typeof parameters)[];
  body?: { schema: keyof typeof requestExamples; description: string };
  success: {
    status: 200 | 201 | 202 | 204;
    description: string;
    schema?: keyof typeof responseExamples;
    /** Whether the response has the header `Location`. */
    hasLocation?: true;
  };
  /** The errors in addition to those of every operation. */
  errors: readonly DescribedError[];
};

type FailedParse = Parameters<typeof describeIssues>[0];

/** Returns the error for a body that the parser rejects. */
const rejectedBody = (result: { error?: FailedParse | undefined }): DescribedError => {
  if (!result.error) throw new Error('The parser accepts the example of an invalid body.');
  return { when: 'A value is invalid', error: badRequest(describeIssues(result.error)) };
};

const notJson: DescribedError = { when: 'The body is not JSON', error: badRequest('body: must be valid JSON') };
const badLimit: DescribedError = { when: 'The `limit` is invalid', error: invalidLimit() };
const unknownNotification: DescribedError = {
  when: 'The account has no notification with this ID',
  error: notFound('The notification'),
};
const fixedNotification: DescribedError = {
  when: 'The default notification cannot be changed',
  error: defaultNotificationFixed(defaultNotification.id),
};
const tooLarge: DescribedError = {
  when: 'The notification would not fit into a response',
  error: notificationTooLarge(MAX_BODY_BYTES),
};
const noMoreTests: DescribedError = {
  when: 'The account has used its tests of the UTC day',
  error: testLimitReached(200, EXAMPLE_TIME_MS),
};
const unconfirmed: DescribedError = {
  when: 'It is unknown whether the change was applied',
  error: unconfirmedChange(),
};
const invalidNotification = rejectedBody(parseNotification({ type: 'webhook', details: { url: 'ftp://a.example' } }));

/** The operations of the API. The compiler requires an entry for every endpoint. */
export const operations: Record<EndpointName, Operation> = {
  'create-notification': {
    summary: 'Create a notification',
    details: 'The response has no body; `Location` is the URL of the new notification.',
    tag: 'notifications',
    body: { schema: 'NewNotification', description: 'The notification. `type` selects the fields in `details`' },
    success: { status: 201, description: 'The notification was created.', hasLocation: true },
    errors: [
      invalidNotification,
      notJson,
      { when: 'The account has as many notifications as it may have', error: notificationLimitReached(1_000) },
      tooLarge,
    ],
  },
  'list-notifications': {
    summary: 'List notifications',
    details: 'Sorted by ID, the default notification last. With `id`, only the notifications with these IDs.',
    tag: 'notifications',
    query: ['limit', 'marker', 'id'],
    success: { status: 200, description: 'A page of notifications.', schema: 'Notifications' },
    errors: [badLimit],
  },
  'get-notification': {
    summary: 'Read a notification',
    tag: 'notifications',
    success: { status: 200, description: 'The notification.', schema: 'Notification' },
    errors: [unknownNotification],
  },
  'update-notification': {
    summary: 'Update a notification in part',
    details:
      'Changes the attributes in the body. `details` and `metadata` are replaced as a whole, and the updated notification is validated.',
    tag: 'notifications',
    body: { schema: 'NotificationChanges', description: 'The attributes to change' },
    success: { status: 204, description: 'The notification was updated.', hasLocation: true },
    errors: [invalidNotification, notJson, fixedNotification, unknownNotification, tooLarge],
  },
  'delete-notification': {
    summary: 'Delete a notification',
    details: 'Its pending deliveries end as `cancelled`. Its delivery history can still be read.',
    tag: 'notifications',
    success: { status: 204, description: 'The notification was deleted.' },
    errors: [fixedNotification, unknownNotification],
  },
  'test-notification': {
    summary: 'Send a test message to a notification',
    details:
      'Sends one message like a real alert, without retries. If the destination fails, the status is 200 and the body says why.',
    tag: 'tests',
    success: { status: 200, description: 'The test ran.', schema: 'TestResult' },
    errors: [unknownNotification, noMoreTests],
  },
  'test-new-notification': {
    summary: 'Send a test message to a destination before creating it',
    details:
      'Sends one message like a real alert, without retries. If the destination fails, the status is 200 and the body says why.',
    tag: 'tests',
    body: { schema: 'Destination', description: 'The destination. `type` selects the fields in `details`' },
    success: { status: 200, description: 'The test ran.', schema: 'TestResult' },
    errors: [rejectedBody(parseDestination({ type: 'email', details: { address: 'oncall' } })), notJson, noMoreTests],
  },
  'list-notification-types': {
    summary: 'List the notification types',
    details: 'Sorted by ID.',
    tag: 'notification types',
    query: ['limit', 'marker'],
    success: { status: 200, description: 'A page of notification types.', schema: 'NotificationTypes' },
    errors: [badLimit],
  },
  'get-notification-type': {
    summary: 'Read a notification type',
    tag: 'notification types',
    success: { status: 200, description: 'The notification type.', schema: 'NotificationType' },
    errors: [{ when: 'There is no notification type with this ID', error: notFound('The notification type') }],
  },
  'list-deliveries': {
    summary: 'List the deliveries of a notification',
    details:
      'Newest first by the time in the event ID, of the last 30 days, also of a deleted notification. With a filter, a page can have fewer values than `limit`, or none, although `next_marker` is not null.',
    tag: 'deliveries',
    isExtension: true,
    query: ['limit', 'deliveryMarker', 'status', 'alarm_id'],
    success: { status: 200, description: 'A page of deliveries.', schema: 'Deliveries' },
    errors: [
      { when: 'A filter is invalid', error: badRequest(`status: must be one of ${deliveryStatuses.join(', ')}`) },
      badLimit,
      { when: 'The account has neither the notification nor a delivery of it', error: notFound('The notification') },
    ],
  },
  redeliver: {
    summary: 'Redeliver failed deliveries of a notification',
    details:
      'Each failed delivery starts one new round of attempts, oldest failure first, up to 1,000 deliveries or 20 MB per request. Failures are kept for 14 days.',
    tag: 'deliveries',
    isExtension: true,
    body: { schema: 'Redelivery', description: 'What to redeliver' },
    success: { status: 202, description: 'The deliveries start a new round.', schema: 'RedeliveryResult' },
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
  'get-account': {
    summary: 'Read the account, its limits and their usage',
    details: 'Only an admin sees the webhook token and the signing secrets.',
    tag: 'account',
    isExtension: true,
    success: { status: 200, description: 'The account.', schema: 'Account' },
    errors: [],
  },
  'update-account': {
    summary: 'Update the account in part',
    details: 'Changes the attributes in the body. If one of them is invalid, nothing changes.',
    tag: 'account',
    isExtension: true,
    body: { schema: 'AccountChanges', description: 'The attributes to change' },
    success: { status: 204, description: 'The account was updated.' },
    errors: [rejectedBody(parseAccountChanges({ webhook_token: 'short' })), notJson, unconfirmed],
  },
  'rotate-signing-secret': {
    summary: 'Replace the signing secret of webhooks',
    details:
      'The new secret signs within 60 seconds. For 24 hours the replaced one signs, too. At most two secrets sign, so a second rotation within that time ends the older secret at once.',
    tag: 'account',
    isExtension: true,
    success: { status: 200, description: 'The new secret.', schema: 'SigningSecret' },
    errors: [unconfirmed],
  },
  'list-tokens': {
    summary: 'List the API tokens',
    details: 'The unexpired tokens of the account, oldest first, without the tokens themselves.',
    tag: 'tokens',
    isExtension: true,
    query: ['limit', 'marker'],
    success: { status: 200, description: 'A page of tokens.', schema: 'Tokens' },
    errors: [badLimit],
  },
  'create-token': {
    summary: 'Create an API token',
    details: 'The token is shown only in this response.',
    tag: 'tokens',
    isExtension: true,
    body: { schema: 'NewToken', description: 'The token to create' },
    success: { status: 201, description: 'The token was created.', schema: 'CreatedToken' },
    errors: [
      rejectedBody(parseNewToken({ label: 'Deploy job', role: 'owner' })),
      notJson,
      { when: 'The account has as many tokens as it may have', error: tokenLimitReached(MAX_TOKENS) },
      unconfirmed,
    ],
  },
  'revoke-token': {
    summary: 'Revoke an API token',
    details: 'Requests with the token return 401 within 60 seconds.',
    tag: 'tokens',
    isExtension: true,
    success: { status: 204, description: 'The token was revoked.' },
    errors: [
      { when: 'The token is the only unexpired one of role admin', error: lastAdminToken() },
      { when: 'The account has no token with this ID', error: notFound('The token') },
      unconfirmed,
    ],
  },
};
