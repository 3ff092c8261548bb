import { randomUUID } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { Queues } from '../../shared/adapters/queues.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import type { Transport } from '../../shared/domain/transport.ts';
import { lateRetrySeconds } from '../../shared/pipeline/sender/batch-metrics.ts';
import { createDeliveryConsumer } from '../../shared/pipeline/sender/deliver.ts';
import { lambdaContext } from '../support/api-request.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent, deliveryMessage } from '../support/events.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { type SenderOptions, senderOf } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();
const NOW_MS = Date.UTC(2026, 0, 1);
const ACCEPTED_MS = NOW_MS - 5_000;
const delivered: AttemptOutcome = { result: 'delivered', status: 200, explanation: 'OK' };

let written = '';
beforeEach(() => {
  written = '';
  vi.spyOn(logger, 'error').mockImplementation(() => undefined);
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  vi.stubEnv('STACK_NAME', 'local');
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += text;
    return true;
  });
  return () => vi.restoreAllMocks();
});

const queues = {
  sendAll: async () => [],
  sendDelayed: async () => undefined,
  sendToDeadLetterQueue: async () => undefined,
  changeVisibility: async () => undefined,
};

/** Creates the webhook sender. */
const setUp = (transport: Transport, changes: Partial<SenderOptions> = {}) => {
  const given = { type: 'webhook', transport, queues, clock: () => NOW_MS, ...changes } as const;
  const { dependencies, parts } = senderOf(client, given);
  const handler = createDeliveryConsumer(dependencies, parts, {
    targets: () => ({ find: async ({ id }) => ({ id, type: 'webhook', details: {} }) }),
  });
  const context = { ...lambdaContext, getRemainingTimeInMillis: () => 20_000 };
  return async (...Records: SQSRecord[]) => (await handler({ Records }, context)).batchItemFailures.length;
};

const newBody = () => deliveryMessage(newNotificationId(), alarmEvent({ event_id: randomUUID() }), ACCEPTED_MS);

it('failures in records are counted, those of notices are not', async () => {
  const notice = JSON.stringify({ kind: 'failing', subject: 's', paragraphs: [], facts: [] });
  const outcomes = [failed('permanent', 'rejected', ''), failed('transient', 'http_status', ''), delivered];
  let attempts = 0;
  const receive = setUp(async () => outcomes[attempts++] ?? failed('transient', 'timeout', ''));
  const bodies = [newBody(), newBody(), newBody(), newBody().replace('{', `{"notice":${notice},`)];
  for (const body of bodies) await receive(sqsMessage({ body }));
  expect(written.match(/"failures_unseen":1/g)).toHaveLength(2);
});

it('attempts at destinations count as 1 if they fail and -1 if not, and again for an endpoint of the operators', async () => {
  const outcomes = [
    failed('transient', 'http_status', ''),
    delivered,
    { ...failed('transient', 'timeout', ''), isEndpointFailure: true },
    { ...delivered, isEndpointFailure: false },
    { ...failed('transient', 'circuit_open', ''), countsAsAttempt: false },
  ];
  const receive = setUp(async () => outcomes.shift() ?? delivered);
  await receive(...Array.from({ length: 5 }, () => sqsMessage({ body: newBody() })));
  expect(written).toContain('"failure_excess":[1,-1,1,-1]');
  expect(written).toContain('"endpoint_failure_excess":[1,-1]');
});

describe('the time to the first attempt', () => {
  const prevented = { ...failed('transient', 'circuit_open', ''), countsAsAttempt: false };
  const transient = failed('transient', 'http_status', '');
  const notice = JSON.stringify({ kind: 'failing', subject: 's', paragraphs: [], facts: [] });
  const waited = { messageAttributes: { lock_wait_count: { stringValue: '1', dataType: 'Number' } } } as const;
  const moved = { eventSourceARN: 'arn:aws:sqs:local-1:000000000000:webhook-Retries' };

  it.each<[string, AttemptOutcome[], Partial<SQSRecord>, string, number[]]>([
    ['is that from the acceptance of the event, once', [transient, transient, delivered], {}, '{', [5_000]],
    ['is unknown if a circuit postponed the attempt', [prevented, delivered], {}, '{', []],
    ['is unknown if an incident lock postponed the attempt', [delivered], waited, '{', []],
    ['is unknown if the move of a slow tenant postponed the attempt', [delivered], moved, '{', []],
    ['does not exist for a notice', [delivered], {}, `{"notice":${notice},`, []],
  ])('%s', async (_, outcomes, changes, start, expected) => {
    let nowMs = NOW_MS;
    let attempts = 0;
    const receive = setUp(async () => outcomes[attempts++] ?? delivered, { clock: () => nowMs });
    const body = newBody().replace('{', start);
    for (const __ of outcomes) {
      await receive(sqsMessage({ body, ...changes }));
      nowMs += 600_000;
    }
    const values = [...written.matchAll(/"first_attempt_latency":(\d+)/g)].map(([, value]) => Number(value));
    expect(values).toEqual(expected);
  });
});

it('the latency of a delivery does not include the time that another one of its batch takes', async () => {
  let nowMs = NOW_MS;
  let attempts = 0;
  const recorded = Promise.withResolvers<void>();
  const transport = async () => {
    if (attempts++ > 0) {
      await recorded.promise;
      nowMs += 9_000;
    }
    return delivered;
  };
  const deliveries = createDeliveryRepository(client, 'deliveries');
  const update: typeof deliveries.update = async (...write) => {
    const record = await deliveries.update(...write);
    // Once the sender has noticed when the first one was recorded.
    setTimeout(recorded.resolve);
    return record;
  };
  const receive = setUp(transport, { clock: () => nowMs, deliveries: { ...deliveries, update } });
  await receive(...[1, 2].map((id) => sqsMessage({ messageId: String(id), body: newBody() })));
  expect(written).toContain('"delivery_latency":[5000,14000]');
});

it.each([
  ['is the longest wait beyond the 15 minutes by which SQS can delay them', ['a', 1200, 'b', 1500, 'c', 30], 600],
  ['is 0 if they are less than five minutes late', ['a', 1199, 'b', 1199], 0],
  ['is 0 if only one tenant has late ones, because the queue is fair', ['a', 5000, 'a', 4000, 'b', 10], 0],
  ['is 0 for first attempts, which have an alarm on the age of their queue', ['a', 5000, 'b', 5000], 0, 'webhook'],
] as const)(
  'the lateness of the retries in a batch, in seconds, %s',
  (_, waits, expected, queue: string = 'webhook-retries') => {
    const messages = Array.from({ length: waits.length / 2 }, (__, index) =>
      sqsMessage({
        attributes: {
          ...sqsMessage().attributes,
          SentTimestamp: '1000',
          ApproximateFirstReceiveTimestamp: String(1000 + 1000 * Number(waits[2 * index + 1])),
          MessageGroupId: String(waits[2 * index]),
        },
        eventSourceARN: `arn:aws:sqs:local-1:000000000000:${queue}`,
      }),
    );
    const retryQueueUrl = queueUrl('webhook-retries');
    expect(lateRetrySeconds(messages, { type: 'webhook', queueUrls: senderQueueUrls, retryQueueUrl })).toBe(expected);
  },
);

describe('a first attempt of a slow tenant', () => {
  const RETRIES = queueUrl('webhook-Retries');
  const bodyOf = (tenant_id: string) =>
    deliveryMessage(newNotificationId(), alarmEvent({ tenant_id, event_id: randomUUID() }), ACCEPTED_MS);
  const messagesOf = (tenants: readonly string[], queue = 'webhook') =>
    tenants.map((tenant, index) => {
      const eventSourceARN = `arn:aws:sqs:local-1:1:${queue}`;
      return sqsMessage({ messageId: `${index}`, body: bodyOf(tenant), eventSourceARN });
    });
  const setUpSlow = ({ isQueueFailing = false } = {}) => {
    const sent: { url: string; body: string; messageGroupId: string }[] = [];
    const attempted: string[] = [];
    const sendAll: Queues['sendAll'] = async (url, messages) => {
      if (isQueueFailing) return [...messages];
      for (const { body, messageGroupId } of messages) sent.push({ url, body: body(), messageGroupId });
      return [];
    };
    const transport: Transport = async ({ event }) => {
      attempted.push(event.tenant_id);
      return delivered;
    };
    const isSlow = (tenant: string) => tenant === 'slow';
    return { sent, attempted, receive: setUp(transport, { queues: { ...queues, sendAll }, isSlow }) };
  };

  it('is moved to the retry queue, and that of another tenant is not', async () => {
    const { sent, attempted, receive } = setUpSlow();
    const messages = messagesOf(['slow', 'other', 'slow']);
    expect(await receive(...messages)).toBe(0);
    const moved = [messages[0], messages[2]].map((message) => message?.body);
    expect(sent).toEqual(moved.map((body) => ({ url: RETRIES, body, messageGroupId: 'slow' })));
    expect(attempted).toEqual(['other']);
    const fields = { type: 'webhook', tenant_id: 'slow', messages: 2 };
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('first attempts moved', fields);
  });

  it('that was moved is made although the tenant is slow', async () => {
    const { sent, attempted, receive } = setUpSlow();
    expect(await receive(...messagesOf(['slow'], 'webhook-Retries'))).toBe(0);
    expect([sent, attempted]).toEqual([[], ['slow']]);
  });

  it('that cannot be moved is received again', async () => {
    expect(await setUpSlow({ isQueueFailing: true }).receive(...messagesOf(['slow', 'other']))).toBe(1);
  });
});
