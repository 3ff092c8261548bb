import type { LambdaClient } from '@aws-sdk/client-lambda';
import type { LimitOf } from '../adapters/accounts/account-repository.ts';
import type { TestCounter } from '../adapters/accounts/test-counter.ts';
import { type AlarmState, alarmStates } from '../contracts/alarm-event.ts';
import { type TestRequest, type TestResult, testResult } from '../contracts/messages.ts';
import type { Clock } from '../domain/clock.ts';
import { badRequest } from '../domain/errors.ts';
import { type DeliveryTarget, typeFields } from '../domain/notification.ts';
import type { ParsedEnvironment } from '../environment.ts';
import { createCountedInvocation, createInvokeClient } from './counted-invocation.ts';

/** The send timeout of 15 s, and time for a cold start of the sender. */
const INVOKE_TIMEOUT_MS = 25_000;

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
 * tenant's limits (`createCountedInvocation`), which it reads while the destination is read. `record` writes the audit
 * entry of the test.
 *
 * @throws ServiceError 429 or 503
 */
export const createTestRunner = (
  counter: TestCounter,
  limitOf: LimitOf,
  environment: Pick<ParsedEnvironment<'test-notification'>, 'SENDER_FUNCTIONS'>,
  lambda: Pick<LambdaClient, 'send'> = createInvokeClient(INVOKE_TIMEOUT_MS),
  clock: Clock = Date.now,
) => {
  const invoke = createCountedInvocation(counter, lambda, clock);

  return async (
    tenant: string,
    reading: Promise<TestDestination>,
    record: () => Promise<void>,
  ): Promise<TestResult> => {
    const [limit, destination] = await Promise.all([limitOf(tenant), reading]);
    const request: TestRequest = {
      kind: 'test',
      tenant,
      type: destination.type,
      details: typeFields(destination),
      webhook_request: destination.webhookRequest,
      signing_secrets: destination.signingSecrets,
      state: destination.state,
      needs_verification: destination.needsVerification,
    };
    const functionName = environment.SENDER_FUNCTIONS[destination.type];
    return testResult.parse(await invoke({ functionName, request, limit, record }));
  };
};
