import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { createAccountRepository } from '../../adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../../adapters/aws-client.ts';
import { createDeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import { createFailedMessages } from '../../adapters/deliveries/failed-messages.ts';
import { createIncidentLocks } from '../../adapters/deliveries/incident-locks.ts';
import { createThrottlingWatch } from '../../adapters/dynamodb/errors.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { emitMetrics } from '../../adapters/metrics.ts';
import { createTargetReader } from '../../adapters/notifications/notification-targets.ts';
import { createQueues } from '../../adapters/queues.ts';
import { webhookPayload } from '../../contracts/alarm-event.ts';
import { type TestRequest, testRequest } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { TestResult } from '../../contracts/responses/notifications.ts';
import { eventHeader } from '../../domain/event-header.ts';
import { testEvent } from '../../domain/test-event.ts';
import { type Transport, withAlarmUrl } from '../../domain/transport.ts';
import { ulid } from '../../domain/ulid.ts';
import { parseEnvironment, type SenderName, senderName } from '../../environment.ts';
import { createDeliveryConsumer, type SenderParts } from './deliver.ts';
import type { SenderDependencies } from './delivery-job.ts';

const createTestRun =
  (type: NotificationTypeId, transport: Transport) =>
  async (input: unknown, timeLeft: () => number): Promise<TestResult> => {
    const { tenant, type: testedType, state, ...tested } = testRequest.parse(input);
    if (testedType !== type) throw new Error(`The sender of ${type} received a test of ${testedType}.`);
    const nowMs = Date.now();
    const event = testEvent(tenant, nowMs, state);
    const alert = {
      event: eventHeader(event, nowMs),
      payload: JSON.stringify(webhookPayload(event)),
      eventTimeMs: nowMs,
      deliveryId: ulid(),
      reachedRecipientHashes: [],
      timeLeft,
    };
    const { details, label, webhook_request: webhookRequest, signing_secrets: signingSecrets } = tested;
    const outcome = await transport(alert, details, { label, webhookRequest, signingSecrets }).catch(
      (error: unknown) => {
        logger.error('internal error', { type, ...errorTrace(error) });
        // Lambda logs the thrown error, so it must not contain the original message.
        throw new Error('The test did not run.');
      },
    );
    emitMetrics({ [`test_${outcome.result}`]: 1 }, { type });
    const { explanation: message, shown } = outcome;
    return outcome.result === 'delivered'
      ? { status: 'success', message, ...shown }
      : { status: 'failure', message, response_text: outcome.responseText, ...shown };
  };

/** What a sender needs. Its handler takes a batch of the type's queue or retry queue, or a test of the API. */
export const senderFunction = <Type extends NotificationTypeId>(type: Type) => {
  const client = createDocumentClient();
  // The compiler knows the variables that all senders have only if the type is open.
  const shared = parseEnvironment<SenderName>(senderName(type));
  const accounts = createAccountRepository(client, shared.ACCOUNTS_TABLE);
  const dependencies: SenderDependencies = {
    type,
    accounts,
    deliveries: createDeliveryRepository(client, shared.DELIVERIES_TABLE),
    incidentLocks: createIncidentLocks(client, shared.DELIVERIES_TABLE),
    failedMessages: createFailedMessages(client, shared.DELIVERIES_TABLE),
    queues: createQueues(),
    queueUrls: shared.SENDER_QUEUES,
    retryQueueUrl: shared.RETRY_QUEUE,
    deadLetterQueueUrl: shared.DEAD_LETTER_QUEUE,
    retryDelayScale: shared.RETRY_DELAY_SCALE,
    clock: Date.now,
    isTenantThrottled: createThrottlingWatch(Date.now),
  };

  const sender = (parts: SenderParts) => {
    const notifications = createTargetReader(client, shared.NOTIFICATIONS_TABLE);
    const transport = withAlarmUrl(parts.transport, shared.ALARM_URL);
    const consume = createDeliveryConsumer(dependencies, { ...parts, transport }, notifications);
    const runTest = createTestRun(type, transport);
    return async (input: SQSEvent | TestRequest, context: Context): Promise<SQSBatchResponse | TestResult> => {
      logger.appendKeys({ request_id: context.awsRequestId });
      return 'Records' in input ? consume(input, context) : runTest(input, () => context.getRemainingTimeInMillis());
    };
  };

  return { environment: parseEnvironment(senderName(type)), client, accounts, dependencies, sender };
};
