import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { createDocumentClient } from '../../adapters/aws-client.ts';
import { createDeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import { createFailedMessages } from '../../adapters/deliveries/failed-messages.ts';
import { createIncidentLocks } from '../../adapters/deliveries/incident-locks.ts';
import { createThrottlingWatch } from '../../adapters/dynamodb/errors.ts';
import { logger } from '../../adapters/logger.ts';
import { createTargetReader } from '../../adapters/notifications/notification-targets.ts';
import { createQueues } from '../../adapters/queues.ts';
import type { TestRequest } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { TestResult } from '../../contracts/responses/notifications.ts';
import type { Transport } from '../../domain/transport.ts';
import type { ParsedEnvironment, SenderName } from '../../environment.ts';
import { createBatchProcessing } from './batch.ts';
import { createTestRun } from './run-test.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** What only some senders have. */
export type SenderOptions = Partial<Pick<SenderDependencies, 'createSummaries' | 'isSlowTenant' | 'refusalOf'>>;

/**
 * Creates the Lambda handler of a type's sender. Its input is either a batch from the type's queue or retry queue,
 * whose messages it processes concurrently, or a test request from the API, for which it returns the test result.
 */
export const createSender = (
  type: NotificationTypeId,
  client: ReturnType<typeof createDocumentClient>,
  accounts: AccountRepository,
  environment: ParsedEnvironment<SenderName>,
  transport: Transport,
  { createSummaries, isSlowTenant = () => false, refusalOf }: SenderOptions = {},
) => {
  // On the queue of the type, a notice that is due later would raise the age of the oldest message.
  const delayedQueueUrls = { ...environment.SENDER_QUEUES, [type]: environment.RETRY_QUEUE };
  const dependencies: SenderDependencies = {
    type,
    transport,
    accounts,
    deliveries: createDeliveryRepository(client, environment.DELIVERIES_TABLE),
    incidentLocks: createIncidentLocks(client, environment.DELIVERIES_TABLE),
    failedMessages: createFailedMessages(client, environment.DELIVERIES_TABLE),
    queues: createQueues(),
    queueUrls: environment.SENDER_QUEUES,
    delayedQueueUrls,
    retryQueueUrl: environment.RETRY_QUEUE,
    deadLetterQueueUrl: environment.DEAD_LETTER_QUEUE,
    retryDelayScale: environment.RETRY_DELAY_SCALE,
    clock: Date.now,
    isTenantThrottled: createThrottlingWatch(Date.now),
    createSummaries,
    isSlowTenant,
    refusalOf,
  };
  const notifications = createTargetReader(client, environment.NOTIFICATIONS_TABLE);
  const processBatch = createBatchProcessing(dependencies, notifications);
  const runTest = createTestRun(type, transport);

  return async (input: SQSEvent | TestRequest, context: Context): Promise<SQSBatchResponse | TestResult> => {
    logger.appendKeys({ request_id: context.awsRequestId });
    const timeLeft = () => context.getRemainingTimeInMillis();
    return 'Records' in input ? processBatch(input, timeLeft) : runTest(input, timeLeft);
  };
};
