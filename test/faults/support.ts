import { setTimeout as sleep } from 'node:timers/promises';
import type { AwsCall, AwsService } from 'local-aws/aws-service.ts';
import type { Fault } from 'local-aws/endpoint.ts';
import { type LocalStack, type LocalStackOptions, startLocalStack } from '../../bin/local/stack.ts';
import { connectApi } from '../support/api.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { sharedAssembly } from '../support/shared-assembly.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';

export const throttled = { status: 400, type: 'ThrottlingException', message: 'Rate exceeded' } as const;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Starts the local stack in this process, with control over faults and time. */
export const startFaultyStack = async (settings: Record<string, string> = {}, options: LocalStackOptions = {}) => {
  const lines: string[] = [];
  const stack: LocalStack = await startLocalStack({
    settings: {
      testsPerTenantPerDay: '100000',
      retryDelayScale: '0.001',
      senderConcurrency: '2',
      senderConcurrencyByType: '',
      ...settings,
    },
    log: (line) => lines.push(line),
    synthesize: sharedAssembly,
    ...options,
  });
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);

  /** Injects a fault into the matching AWS calls. @returns a function that removes the fault */
  const injectFault = (fault: ReturnType<Fault>, matches: (call: AwsCall) => boolean): (() => void) => {
    const previous = stack.endpoint.fault;
    stack.endpoint.fault = (call) => (matches(call) ? fault : previous(call));
    return () => {
      stack.endpoint.fault = previous;
    };
  };

  /** Replaces the handler of the first matching call of an AWS service. `serve` is the original handler. */
  const interceptOnce = (
    service: string,
    matches: (call: AwsCall) => boolean,
    handle: (call: AwsCall, serve: AwsService) => ReturnType<AwsService>,
  ): void => {
    const serve = stack.endpoint.services.get(service);
    if (!serve) throw new Error(`There is no service ${service}.`);
    stack.endpoint.services.set(service, async (call) => {
      if (!matches(call)) return serve(call);
      stack.endpoint.services.set(service, serve);
      return handle(call, serve);
    });
  };

  /**
   * Advances the clock of the stack until the promise resolves, so that delayed messages become visible. Does not
   * advance while functions run, because their leases would expire.
   */
  const advanceUntil = async <Value>(promise: Promise<Value>, { stepMs = 5_000 } = {}): Promise<Value> => {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    while (!isSettled) {
      if (stack.lambda.busy() === 0) await stack.advance(stepMs);
      await sleep(20);
    }
    return settled;
  };

  /** Advances the clock to the next UTC day if this one ends within two hours, for tests of what is counted per day. */
  const stayWithinDay = async (): Promise<void> => {
    const leftMs = DAY_MS - (stack.clock.now() % DAY_MS);
    if (leftMs < 2 * HOUR_MS) await stack.advance(leftMs);
  };

  /** Returns a queue by its name. @throws Error if there is none */
  const queue = (name: string) => {
    const found = stack.queues.get(name);
    if (!found) throw new Error(`There is no queue ${name}.`);
    return found;
  };

  const drainQueue = (queueName: string): Promise<true> => {
    const queues = [queueName, `${queueName}-Retries`].flatMap((name) => stack.queues.get(name) ?? []);
    if (queues.length === 0) throw new Error(`There is no queue ${queueName}.`);
    // Both are checked at the same moment, because messages move between them.
    const areEmpty = () => queues.every(({ messages }) => messages.length === 0);
    return advanceUntil(until(async () => (areEmpty() ? true : undefined)));
  };

  /** Resolves with a delivery of the notification once it has an attempt. */
  const attemptedDelivery = (tenant: string, notificationId: string) =>
    until(async () =>
      (await pipeline.deliveries(tenant, notificationId)).find(({ attempt_count }) => attempt_count > 0),
    );

  /** Resolves once `count` deliveries of the notification are no longer pending. */
  const endedDeliveries = (tenant: string, notificationId: string, count: number) =>
    until(async () => {
      const found = (await pipeline.deliveries(tenant, notificationId)).filter(({ status }) => status !== 'pending');
      return found.length === count ? found : undefined;
    });

  return {
    stack,
    /** The log lines of the stack so far. */
    lines,
    injectFault,
    interceptOnce,
    advanceUntil,
    stayWithinDay,
    drainQueue,
    queue,
    attemptedDelivery,
    endedDeliveries,
    ...api,
    ...pipeline,
  };
};

export type FaultyStack = Awaited<ReturnType<typeof startFaultyStack>>;

/** Starts the stack before the tests of a file or describe, and stops it after them. */
export const useFaultyStack = (...options: Parameters<typeof startFaultyStack>): FaultyStack =>
  useStarted(
    () => startFaultyStack(...options),
    ({ stack }) => stack.stop(),
  );
