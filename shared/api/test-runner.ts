import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { AccountRepository } from '../adapters/accounts/account-repository.ts';
import { onceConfig } from '../adapters/aws-client.ts';
import { logger } from '../adapters/logger.ts';
import { type TestRequest, type TestResult, testResult } from '../contracts/messages.ts';
import type { Destination } from '../contracts/notification.ts';
import type { NotificationTypeId } from '../contracts/notification-types.ts';
import type { Clock } from '../domain/clock.ts';
import { ServiceError, unavailable } from '../domain/errors.ts';
import { typeFields } from '../domain/notification.ts';

/** A sender gives up a destination after 15 s; what is left is for its cold start. In ms. */
const INVOKE_TIMEOUT = 25_000;

/** A client that invokes a sender once: a second test message that nobody asked for must not go out. */
const createInvokeClient = (): LambdaClient =>
  new LambdaClient({
    ...onceConfig,
    requestHandler: { ...onceConfig.requestHandler, requestTimeout: INVOKE_TIMEOUT },
  });

const secondsToNextDay = (now: number): number => 86_400 - (Math.floor(now / 1000) % 86_400);

/** Sends a test message to a destination: by the type's own sender, so from where real alerts come. */
export type RunTest = (tenant: string, destination: Destination) => Promise<TestResult>;

/**
 * Runs tests within the tenant's daily limit (design 2, Tests).
 *
 * @throws ServiceError 429 where the limit is reached; 503 where the test cannot be counted or our own sender did not run
 */
export const createTestRunner =
  (
    accounts: Pick<AccountRepository, 'count'>,
    environment: { TESTS_PER_TENANT_PER_DAY: number; SENDER_FUNCTIONS: Record<NotificationTypeId, string> },
    lambda: LambdaClient = createInvokeClient(),
    clock: Clock = Date.now,
  ): RunTest =>
  async (tenant, destination) => {
    const counted = await accounts
      .count('tests', tenant, 1, environment.TESTS_PER_TENANT_PER_DAY)
      .catch((error: unknown) => {
        throw unavailable(error);
      });
    if (!counted) {
      throw new ServiceError('rateLimitReached', 'The daily limit of tests is reached.', {
        details: `at most ${environment.TESTS_PER_TENANT_PER_DAY} tests in a day (UTC)`,
        retryAfterSeconds: secondsToNextDay(clock()),
      });
    }
    const request: TestRequest = {
      kind: 'test',
      tenant,
      type: destination.type,
      details: typeFields(destination),
    };
    const answer = await lambda
      .send(
        new InvokeCommand({
          FunctionName: environment.SENDER_FUNCTIONS[destination.type],
          Payload: JSON.stringify(request),
        }),
      )
      .catch((error: unknown) => {
        throw unavailable(error);
      });
    if (answer.FunctionError || !answer.Payload) {
      logger.error('sender did not run', { type: destination.type });
      throw unavailable();
    }
    return testResult.parse(JSON.parse(answer.Payload.transformToString()));
  };
