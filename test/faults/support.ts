import { setTimeout as sleep } from 'node:timers/promises';
import type { AwsCall, AwsService } from 'local-aws/aws-service.ts';
import type { Fault } from 'local-aws/endpoint.ts';
import { type LocalStack, type LocalStackOptions, startLocalStack } from '../../bin/local/stack.ts';
import { moveMessages } from '../../bin/ops/redrive.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { connectApi } from '../support/api.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { sharedAssembly } from '../support/shared-assembly.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';

/** An AWS call whose caller crashes: right before the call is applied, or right after. */
export type CrashPoint = {
  /** Part of the name of the function that crashes. */
  caller: string;
  service: string;
  action: string;
  when: 'before' | 'after';
  /** Selects calls by their request body. */
  matchesBody?: (body: string) => boolean;
};

/** A throttling error that all services use. */
export const throttled = { status: 400, type: 'ThrottlingException', message: 'Rate exceeded' } as const;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const matchesCall = (
  call: AwsCall,
  { caller, service, action, matchesBody = () => true }: Omit<CrashPoint, 'when'>,
): boolean =>
  call.caller.includes(caller) &&
  call.service === service &&
  call.action === action &&
  matchesBody(call.body.toString('utf8'));

/** Starts the local stack in this process, with control over faults, workers and time. */
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

  /** Crashes the caller at this point, once. Resolves after the crash. */
  const crashOnce = (point: CrashPoint): Promise<void> =>
    new Promise((resolve) => {
      interceptOnce(
        point.service,
        (call) => matchesCall(call, point),
        async (call, serve) => {
          if (point.when === 'after') await serve(call);
          stack.lambda.killOne(call.caller.replace(/^local-/, ''));
          resolve();
          return { status: 500, headers: {}, body: '' };
        },
      );
    });

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

  /** Advances the clock until a queue and its retry queue are empty. */
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

  const deliveriesExcept = (statuses: readonly string[]) => (tenant: string, notificationId: string, count: number) =>
    until(async () => {
      const all = await pipeline.deliveries(tenant, notificationId);
      const found = all.filter(({ status }) => !statuses.includes(status));
      return found.length === count ? found : undefined;
    });

  /** Resolves once `count` alerts of the notification are delivered or summarized, and all summaries have ended. */
  const completedAlerts = (tenant: string, notificationId: string, count: number) =>
    until(async () => {
      const found = await pipeline.deliveries(tenant, notificationId);
      const isComplete = found.every(({ event_id, status }) =>
        // A summary without alerts is cancelled: each alert is in another one, or was sent.
        (event_id.endsWith(':summary') ? ['delivered', 'cancelled'] : ['delivered', 'summarized']).includes(status),
      );
      return isComplete && found.length >= count ? found : undefined;
    });

  /** Moves the dead letters of a type to its queue, as operators do. */
  const redrive = async (type: NotificationTypeId): Promise<void> => {
    const to = stack.queues.get(`Delivery-${type}`)?.settings.url;
    if (to === undefined) throw new Error(`There is no queue of ${type}.`);
    await moveMessages(pipeline.sqs, pipeline.deadLetterQueue(type), () => to);
  };

  return {
    stack,
    /** The log lines of the stack so far. */
    lines,
    injectFault,
    interceptOnce,
    crashOnce,
    advanceUntil,
    stayWithinDay,
    drainQueue,
    attemptedDelivery,
    /** Resolves once `count` deliveries of the notification are no longer pending. */
    endedDeliveries: deliveriesExcept(['pending']),
    /** Resolves once `count` deliveries of the notification are neither pending nor failed. */
    completedAlerts,
    completedDeliveries: deliveriesExcept(['pending', 'failed']),
    redrive,
    ...api,
    ...pipeline,
  };
};

/** A local stack with control over faults, workers and time. */
export type FaultyStack = Awaited<ReturnType<typeof startFaultyStack>>;

/** Starts the stack before the tests of a file or describe, and stops it after them. */
export const useFaultyStack = (...options: Parameters<typeof startFaultyStack>): FaultyStack =>
  useStarted(
    () => startFaultyStack(...options),
    ({ stack }) => stack.stop(),
  );
