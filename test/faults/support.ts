import { setTimeout as pause } from 'node:timers/promises';
import type { AwsCall } from '../../bin/local/aws/aws-service.ts';
import type { Fault } from '../../bin/local/aws/endpoint.ts';
import { type LocalStack, type LocalStackOptions, startLocalStack } from '../../bin/local/stack.ts';
import { moveMessages } from '../../bin/ops/redrive.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { connectApi } from '../support/api.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { until } from '../support/until.ts';

/** A moment in the life of a call to AWS: the caller's Lambda is killed right before it is answered, or right after it was done. */
export type CrashPoint = {
  /** The function that dies, by a part of its name. */
  caller: string;
  service: string;
  action: string;
  when: 'before' | 'after';
  /** Looks into the request where the action alone does not tell. */
  fits?: (body: string) => boolean;
};

/** Throttled, as each service says it. */
export const throttled = { status: 400, type: 'ThrottlingException', message: 'Rate exceeded' } as const;

const called = (call: AwsCall, { caller, service, action, fits = () => true }: Omit<CrashPoint, 'when'>): boolean =>
  call.caller.includes(caller) &&
  call.service === service &&
  call.action === action &&
  fits(call.body.toString('utf8'));

/** The declared stack in this process, with hands on its faults, its workers and its time. */
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
    ...options,
  });
  const running = addressesOf(stack);
  const api = connectApi(running);

  /** Makes the calls that fit fail, or their responses late or lost, until the result is called. */
  const failing = (fault: ReturnType<Fault>, fits: (call: AwsCall) => boolean): (() => void) => {
    const before = stack.endpoint.fault;
    stack.endpoint.fault = (call) => (fits(call) ? fault : before(call));
    return () => {
      stack.endpoint.fault = before;
    };
  };

  /** Kills the caller at this point, once; the answer resolves when it is dead. */
  const crashOnce = (point: CrashPoint): Promise<void> => {
    const serve = stack.endpoint.services.get(point.service);
    if (!serve) throw new Error(`There is no service ${point.service}.`);
    return new Promise((resolve) => {
      stack.endpoint.services.set(point.service, async (call) => {
        if (!called(call, point)) return serve(call);
        stack.endpoint.services.set(point.service, serve);
        if (point.when === 'after') await serve(call);
        stack.lambda.killOne(call.caller.replace(/^local-/, ''));
        resolve();
        return { status: 500, headers: {}, body: '' };
      });
    });
  };

  const pipeline = connectPipeline(running, api);

  /** Brings forward whatever waits until this has happened; not while anybody works, or leases that are held would end. */
  const hurried = async <Value>(happening: Promise<Value>): Promise<Value> => {
    let hasHappened = false;
    const done = happening.finally(() => {
      hasHappened = true;
    });
    while (!hasHappened) {
      if (stack.lambda.busy() === 0) await stack.advance(5_000);
      await pause(20);
    }
    return done;
  };

  /** Resolves when a queue and its retries are empty, whatever waits in them being brought forward. */
  const drained = (queueName: string): Promise<true> => {
    const queues = [queueName, `${queueName}-Retries`].flatMap((name) => stack.queues.get(name) ?? []);
    if (queues.length === 0) throw new Error(`There is no queue ${queueName}.`);
    // Both at one moment: a message goes from one to the other.
    const isEmpty = () => queues.every(({ messages }) => messages.length === 0);
    return hurried(until(async () => (isEmpty() ? true : undefined)));
  };

  /** The record of a notification's one delivery after its first attempt. */
  const attempted = (tenant: string, id: string) =>
    until(async () => (await pipeline.deliveries(tenant, id)).find(({ attempt_count }) => attempt_count > 0));

  /** Resolves when so many deliveries of a notification are no longer open, the dead ones included. */
  const ended = (tenant: string, id: string, amount: number) =>
    until(async () => {
      const found = (await pipeline.deliveries(tenant, id)).filter(({ status }) => status !== 'pending');
      return found.length === amount ? found : undefined;
    });

  /** Resolves when so many deliveries of a notification have ended. */
  const settled = (tenant: string, id: string, amount: number) =>
    until(async () => {
      const ended = (await pipeline.deliveries(tenant, id)).filter(
        ({ status }) => !['pending', 'failed'].includes(status),
      );
      return ended.length === amount ? ended : undefined;
    });

  /** Moves a type's dead letters to its queue, as ops do. */
  const redrive = async (type: NotificationTypeId): Promise<void> => {
    const to = stack.queues.get(`Delivery-${type}`)?.settings.url;
    if (to === undefined) throw new Error(`There is no queue of ${type}.`);
    await moveMessages(pipeline.sqs, { from: pipeline.deadLetterQueue(type), to });
  };

  return {
    stack,
    lines,
    failing,
    crashOnce,
    drained,
    attempted,
    hurried,
    ended,
    settled,
    redrive,
    ...api,
    ...pipeline,
  };
};

/** The declared stack, as tests of faults hold it. */
export type FaultyStack = Awaited<ReturnType<typeof startFaultyStack>>;
