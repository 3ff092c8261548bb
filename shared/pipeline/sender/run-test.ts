import { errorTrace, logger } from '../../adapters/logger.ts';
import { emitMetrics } from '../../adapters/metrics.ts';
import { webhookPayload } from '../../contracts/alarm-event.ts';
import { testRequest } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { TestResult } from '../../contracts/responses/notifications.ts';
import { eventHeader } from '../../domain/event-header.ts';
import { testEvent } from '../../domain/test-event.ts';
import type { Transport } from '../../domain/transport.ts';
import { ulid } from '../../domain/ulid.ts';

/** Creates the function that sends a test message, as the API requests it, and returns its result. */
export const createTestRun =
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
    const { details, webhook_request: webhookRequest, signing_secrets: signingSecrets } = tested;
    const outcome = await transport(alert, details, { webhookRequest, signingSecrets }).catch((error: unknown) => {
      logger.error('internal error', { type, ...errorTrace(error) });
      // Lambda logs the thrown error, so it must not contain the original message.
      throw new Error('The test did not run.');
    });
    emitMetrics({ [`test_${outcome.result}`]: 1 }, { type });
    const { explanation: message, shown } = outcome;
    return outcome.result === 'delivered'
      ? { status: 'success', message, ...shown }
      : { status: 'failure', message, response_text: outcome.responseText, ...shown };
  };
