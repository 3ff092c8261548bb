import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { LimitOf } from '../adapters/accounts/account-repository.ts';
import type { DailyCounters } from '../adapters/accounts/daily-counter.ts';
import { onceConfig } from '../adapters/aws-client.ts';
import { logger } from '../adapters/logger.ts';
import { type AlarmState, alarmStates } from '../contracts/alarm-event.ts';
import { type TestRequest, type TestResult, testResult } from '../contracts/messages.ts';
import type { Clock } from '../domain/clock.ts';
import { badRequest, testLimitReached, unavailable } from '../domain/errors.ts';
import { type DeliveryTarget, typeFields } from '../domain/notification.ts';
import type { ParsedEnvironment } from '../environment.ts';

/** The send timeout of 15 s, and time for a cold start of the sender. */
const INVOKE_TIMEOUT_MS = 25_000;

/** Creates a client that does not retry: a retry could send a second test message. */
const createInvokeClient = (): LambdaClient => {
  const config = onceConfig();
  return new LambdaClient({
    ...config,
    requestHandler: { ...config.requestHandler, requestTimeout: INVOKE_TIMEOUT_MS },
  });
};

const isAlarmState = (text: string): text is AlarmState => alarmStates.some((state) => state === text);

/** Returns the state of the test message that a query string requests, if it requests one. @throws ServiceError 400 */
export const parseTestState = (query: URLSearchParams): AlarmState | undefined => {
  const [state, ...others] = query.getAll('state');
  if (state === undefined) return undefined;
  if (isAlarmState(state) && others.length === 0) return state;
  throw badRequest(`state: must be one of ${alarmStates.join(', ')}`);
};

/** What a test message is sent to, and its state. */
export type TestDestination = Omit<DeliveryTarget, 'id'> & Pick<TestRequest, 'state'>;

/**
 * Creates the function that sends a test message through the sender of its type, like a real alert. It enforces the
 * tenant's daily limit, which it reads while the destination is read (docs/decisions/api.md#test-operations). `record`
 * writes the audit entry of the test.
 *
 * @throws ServiceError 429 if the limit is reached; 503 if the test cannot be counted or the sender fails
 */
export const createTestRunner =
  (
    counters: Pick<DailyCounters, 'count'>,
    limitOf: LimitOf,
    environment: Pick<ParsedEnvironment<'test-notification'>, 'SENDER_FUNCTIONS'>,
    lambda: LambdaClient = createInvokeClient(),
    clock: Clock = Date.now,
  ) =>
  async (tenant: string, reading: Promise<TestDestination>, record: () => Promise<void>): Promise<TestResult> => {
    const [limit, destination] = await Promise.all([limitOf(tenant), reading]);
    const isWithinLimit = await counters.count('tests', tenant, 1, limit).catch((error: unknown) => {
      throw unavailable(error);
    });
    if (!isWithinLimit) throw testLimitReached(limit, clock());
    await record();
    const request: TestRequest = {
      kind: 'test',
      tenant,
      type: destination.type,
      details: typeFields(destination),
      webhook_request: destination.webhookRequest,
      state: destination.state,
    };
    const response = await lambda
      .send(
        new InvokeCommand({
          FunctionName: environment.SENDER_FUNCTIONS[destination.type],
          Payload: JSON.stringify(request),
        }),
      )
      .catch((error: unknown) => {
        throw unavailable(error);
      });
    if (response.FunctionError || !response.Payload) {
      logger.error('sender did not run', { type: destination.type });
      throw unavailable();
    }
    return testResult.parse(JSON.parse(response.Payload.transformToString()));
  };
