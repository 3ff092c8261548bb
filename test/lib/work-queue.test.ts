import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { senderName } from '../../shared/environment.ts';
import { inLogicalId, propertiesOf, reference, synthesize } from '../support/stack.ts';

const { template, functionIds } = synthesize({
  producerAccounts: '111111111111,222222222222',
  senderConcurrency: '20',
  dispatchConcurrency: '5',
  senderConcurrencyByType: 'webhook=100',
});

const queues = propertiesOf(
  template,
  'AWS::SQS::Queue',
  z.object({
    SqsManagedSseEnabled: z.boolean().optional(),
    KmsMasterKeyId: z.unknown().optional(),
    MessageRetentionPeriod: z.number(),
    VisibilityTimeout: z.number().optional(),
    RedrivePolicy: z.object({ deadLetterTargetArn: reference, maxReceiveCount: z.number() }).optional(),
  }),
);
const CRASHED = /^CrashedQueue[0-9A-F]{8}$/;
const workQueues = [...queues].filter(([id]) => !id.includes('DeadLetters') && !CRASHED.test(id));
const isRetryQueue = (id: string) => /Retries[0-9A-F]{8}$/.test(id);

const mappings = (of: typeof template) => [
  ...propertiesOf(
    of,
    'AWS::Lambda::EventSourceMapping',
    z.object({
      EventSourceArn: reference,
      FunctionName: reference,
      FunctionResponseTypes: z.array(z.string()),
      BatchSize: z.number(),
      MaximumBatchingWindowInSeconds: z.number().optional(),
      ScalingConfig: z.object({ MaximumConcurrency: z.number() }).optional(),
    }),
  ).values(),
];
const sources = mappings(template);
const functions = propertiesOf(template, 'AWS::Lambda::Function', z.object({ Timeout: z.number() }));
const policyStatement = z.object({
  Effect: z.string(),
  Action: z.union([z.string(), z.array(z.string())]),
  Principal: z.unknown(),
  Condition: z.unknown().optional(),
});
const policies = [
  ...propertiesOf(
    template,
    'AWS::SQS::QueuePolicy',
    z.object({
      Queues: z.array(reference),
      PolicyDocument: z.object({ Statement: z.array(policyStatement) }),
    }),
  ).values(),
];
const statementsFor = (queue: string) =>
  policies.filter(({ Queues }) => Queues.includes(queue)).flatMap(({ PolicyDocument }) => PolicyDocument.Statement);

const sourcesOf = (name: string) => sources.filter(({ FunctionName }) => FunctionName === functionIds.get(name));
const retriesOf = (name: string) => sourcesOf(name).find(({ EventSourceArn }) => isRetryQueue(EventSourceArn));

describe('every work queue', () => {
  it('redrives to the crashed queue after 100 receives; other queues have no redrive policy', () => {
    const consumed = new Set(sources.map(({ EventSourceArn }) => EventSourceArn));
    const crashed = { deadLetterTargetArn: expect.stringMatching(CRASHED), maxReceiveCount: 100 };
    for (const [id, { RedrivePolicy }] of queues) {
      expect([id, RedrivePolicy]).toEqual([id, consumed.has(id) ? crashed : undefined]);
    }
  });

  it('retains messages for 4 days; the crashed queue and the dead-letter queues retain them for 14', () => {
    const workQueueIds = new Set(workQueues.map(([id]) => id));
    for (const [id, { MessageRetentionPeriod }] of queues) {
      expect([id, MessageRetentionPeriod / 86_400]).toEqual([id, workQueueIds.has(id) ? 4 : 14]);
    }
  });

  it('has exactly one consumer', () => {
    expect(sources.map(({ EventSourceArn }) => EventSourceArn).toSorted()).toEqual(
      workQueues.map(([id]) => id).toSorted(),
    );
  });

  it('has a visibility timeout of at least six function timeouts plus the batching window', () => {
    for (const { EventSourceArn, FunctionName, MaximumBatchingWindowInSeconds: window = 0 } of sources) {
      const timeout = functions.get(FunctionName)?.Timeout ?? Number.NaN;
      expect(queues.get(EventSourceArn)?.VisibilityTimeout).toBeGreaterThanOrEqual(6 * timeout + window);
    }
  });

  it('reports failed messages of a batch individually', () => {
    for (const { FunctionResponseTypes } of sources) expect(FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
  });

  it('limits the concurrent batches of all consumers but email events, whose pollers Lambda can then reduce', () => {
    const unlimited = sources.filter(({ ScalingConfig }) => ScalingConfig === undefined);
    expect(unlimited.map(({ EventSourceArn }) => EventSourceArn)).toEqual([
      expect.stringMatching(/^EmailEventsQueue[0-9A-F]{8}$/),
    ]);
    const development = mappings(synthesize({ developmentStage: true }).template);
    expect(development).toHaveLength(sources.length);
    for (const { ScalingConfig } of development) expect(ScalingConfig).toBeUndefined();
  });
});

describe('reserved concurrency', () => {
  const reservedOf = (of: typeof template) =>
    new Map(
      [
        ...propertiesOf(of, 'AWS::Lambda::Function', z.object({ ReservedConcurrentExecutions: z.number().optional() })),
      ].flatMap(([id, { ReservedConcurrentExecutions: reserved }]) => (reserved === undefined ? [] : [[id, reserved]])),
    );

  it('of dispatch and the senders is that of their event sources, and ten more of each sender for tests', () => {
    const { template: other, functionIds: ids } = synthesize({ reserveConcurrency: true, dispatchConcurrency: '5' });
    const consumers = ['dispatch-alarm-events', ...notificationTypeIds.map(senderName)];
    const expected = consumers.map((name): [string, number] => {
      const id = ids.get(name) ?? '';
      const maxima = mappings(other)
        .filter(({ FunctionName }) => FunctionName === id)
        .map(({ ScalingConfig }) => ScalingConfig?.MaximumConcurrency ?? Number.NaN);
      return [id, maxima.reduce((sum, maximum) => sum + maximum, name === 'dispatch-alarm-events' ? 0 : 10)];
    });
    expect(reservedOf(other)).toEqual(new Map(expected));
    expect(reservedOf(other).get(ids.get('send-webhook') ?? '')).toBe(260);
  });
});

describe('each notification type', () => {
  it('has a retry queue that the same sender consumes in large batches', () => {
    for (const type of notificationTypeIds) {
      const retries = retriesOf(senderName(type));
      expect(retries).toMatchObject({ BatchSize: 100, MaximumBatchingWindowInSeconds: 5 });
      expect(retries?.EventSourceArn).toMatch(new RegExp(`^Delivery${inLogicalId(type)}Retries`));
    }
  });

  it('has an additional quarter of its concurrency for retries, with the AWS minimum of 2', () => {
    const { template: small, functionIds: ids } = synthesize({
      senderConcurrency: '2',
      senderConcurrencyByType: 'webhook=101',
    });
    const retryConcurrency = (name: string) =>
      mappings(small).find(
        ({ FunctionName, EventSourceArn }) => FunctionName === ids.get(name) && isRetryQueue(EventSourceArn),
      )?.ScalingConfig?.MaximumConcurrency;
    expect([retryConcurrency('send-webhook'), retryConcurrency('send-sms')]).toEqual([26, 2]);
    expect(retriesOf('send-sms')?.ScalingConfig).toEqual({ MaximumConcurrency: 5 });
  });

  it('scales the batching window of retries with retryDelayScale, with the AWS minimum of 1 s', () => {
    const { template: quick } = synthesize({ retryDelayScale: '0.001' });
    const windows = mappings(quick).map(({ MaximumBatchingWindowInSeconds: window }) => window);
    // 5 is the window of email events, which nobody waits for.
    expect(new Set(windows)).toEqual(new Set([undefined, 1, 5]));
  });
});

describe('the queue of alarm events', () => {
  const [id = ''] = workQueues.find(([queueId]) => queueId.includes('AlarmEvents')) ?? [];

  it('allows producer accounts to send, and nothing that changes the queue', () => {
    const allowed = statementsFor(id).filter(({ Effect }) => Effect === 'Allow');
    const actions = new Set(allowed.flatMap(({ Action }) => Action));
    expect(actions).toContain('sqs:SendMessage');
    for (const action of actions) expect(action).toMatch(/^sqs:(SendMessage|GetQueueUrl|GetQueueAttributes)$/);
    for (const account of ['111111111111', '222222222222']) expect(JSON.stringify(allowed)).toContain(account);
  });

  it('is the only queue that producer accounts may send to', () => {
    for (const queueId of queues.keys()) {
      const allowed = statementsFor(queueId).filter(({ Effect }) => Effect === 'Allow');
      const accounts = allowed.filter(({ Principal }) => JSON.stringify(Principal).includes('AWS'));
      expect([queueId, accounts.length > 0]).toEqual([queueId, queueId === id]);
    }
  });
});
