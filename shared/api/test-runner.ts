import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createAccountAdministration } from '../adapters/accounts/account-administration.ts';
import { createTestCounter, MAX_CONCURRENT_TESTS, type TestLease } from '../adapters/accounts/test-counter.ts';
import { onceConfig } from '../adapters/aws-client.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { type AlarmState, alarmStates } from '../contracts/alarm-event.ts';
import { type TestRequest, testResult } from '../contracts/messages.ts';
import { typeFields } from '../contracts/notification-fields.ts';
import type { TestResult } from '../contracts/responses/notifications.ts';
import { badRequest, testLimitReached, tooManyTests, unavailable } from '../domain/errors.ts';
import type { DeliveryTarget } from '../domain/notification.ts';
import type { ParsedEnvironment } from '../environment.ts';

/** The send timeout of 15 s, and time for a cold start of the sender. */
const INVOKE_TIMEOUT_MS = 25_000;

const isAlarmState = (text: string): text is AlarmState => alarmStates.some((state) => state === text);

/** @throws ServiceError 400 */
export const parseTestState = (query: URLSearchParams): AlarmState | undefined => {
  const [state, ...others] = query.getAll('state');
  if (state === undefined) return undefined;
  if (isAlarmState(state) && others.length === 0) return state;
  throw badRequest(`state: must be one of ${alarmStates.join(', ')}`);
};

export type TestDestination = Omit<DeliveryTarget, 'id'> & Pick<TestRequest, 'state'>;

/**
 * Creates the function that sends a test message through the sender of its type, like a real alert. It enforces the
 * tenant's daily limit, which it reads while the destination is read, and that of tests at a time
 * (docs/decisions/api.md#test-operations). `record` writes the audit entry of the test.
 * @throws ServiceError 429 if the daily limit is reached; 503 if 20 tests run, the test cannot be counted or the sender
 * fails
 */
export const createTestRunner = (
  client: DynamoDBDocumentClient,
  { ACCOUNTS_TABLE, SENDER_FUNCTIONS, TENANT_LIMITS }: ParsedEnvironment<'test-new-notification'>,
) => {
  const counter = createTestCounter(client, ACCOUNTS_TABLE);
  const limitOf = createAccountAdministration(client, ACCOUNTS_TABLE).currentLimit(
    'testsPerTenantPerDay',
    TENANT_LIMITS,
  );
  const { requestHandler, ...config } = onceConfig();
  // A retry could send a second test message.
  const lambda = new LambdaClient({
    ...config,
    requestHandler: { ...requestHandler, requestTimeout: INVOKE_TIMEOUT_MS },
  });

  const start = async (tenant: string, limit: number): Promise<TestLease> => {
    const started = await counter.start(tenant, limit).catch((error: unknown) => {
      throw unavailable(error);
    });
    if (started.kind === 'daily_limit') throw testLimitReached(limit, Date.now());
    if (started.kind === 'too_many_at_once') throw tooManyTests(MAX_CONCURRENT_TESTS);
    return started.lease;
  };

  // A lease that cannot be given back expires.
  const end = (lease: TestLease): Promise<void> =>
    counter
      .end(lease)
      .catch((error: unknown) => logger.warn('test not ended', { tenant_id: lease.tenant, ...errorTrace(error) }));

  const invoke = async (tenant: string, destination: TestDestination): Promise<TestResult> => {
    const request: TestRequest = {
      tenant,
      type: destination.type,
      details: typeFields(destination),
      label: destination.label,
      webhook_request: destination.webhookRequest,
      signing_secrets: destination.signingSecrets,
      state: destination.state,
    };
    const response = await lambda
      .send(
        new InvokeCommand({
          FunctionName: SENDER_FUNCTIONS[destination.type],
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

  return async (
    tenant: string,
    reading: Promise<TestDestination>,
    record: () => Promise<void>,
  ): Promise<TestResult> => {
    const [limit, destination] = await Promise.all([limitOf(tenant), reading]);
    const lease = await start(tenant, limit);
    try {
      await record();
      return await invoke(tenant, destination);
    } finally {
      await end(lease);
    }
  };
};
