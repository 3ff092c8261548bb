import type { SQSRecord } from 'aws-lambda';
import { isValidContent } from 'local-aws/sqs/queued-message.ts';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { WriteDestinationList } from '../../shared/adapters/deliveries/destination-list.ts';
import { UnprocessedKeyError } from '../../shared/adapters/dynamodb/errors.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { NotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import type { OutgoingMessage, Queues } from '../../shared/adapters/queues.ts';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { continuation, delivery } from '../../shared/contracts/messages.ts';
import { heartbeatEvent } from '../../shared/domain/heartbeat.ts';
import { createDispatch } from '../../shared/pipeline/dispatch/dispatch.ts';
import type { Escalation } from '../../shared/pipeline/notices/escalation.ts';
import { alarmEvent, EVENT_TIME_MS, TRACE_ID, traceFields } from '../support/events.ts';
import { recordMetrics } from '../support/printed-metrics.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const SECOND_MS = 1_000;
const environment = {
  ALARM_EVENTS_QUEUE: queueUrl('AlarmEvents'),
  DEAD_LETTER_QUEUE: queueUrl('DeadLetters'),
  SENDER_QUEUES: senderQueueUrls,
  HEARTBEAT_ROLE_ID: 'AROAHEARTBEAT',
  COUNT_EVENTS: true,
};

let metricLines: ReturnType<typeof recordMetrics>;

beforeEach(() => {
  for (const level of ['info', 'warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  metricLines = recordMetrics();
  return () => vi.restoreAllMocks();
});

/** Returns the metrics that were emitted since the start of the test, without their dimensions. */
const printedMetrics = (): Record<string, unknown> => Object.assign({}, ...metricLines());

const notificationIds = (count: number, prefix = 'nt') =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Which notifications do not exist, and which reads fail. */
type Reads = { isUnknown?: (id: string) => boolean; errorOf?: (id: string) => Error | undefined };
type Options = { readMs?: number; sendMs?: number; writeError?: Error };

/** Returns whether SQS accepts a message. Checks its declared size. */
const isAccepted = ({ body, bytes }: OutgoingMessage): boolean => {
  const text = body();
  expect(Buffer.byteLength(text)).toBe(bytes);
  return isValidContent(text);
};

/** Creates a dispatch whose reads and sends advance its clock. */
const setUp = (
  { isUnknown = () => false, errorOf = () => undefined }: Reads = {},
  { readMs = 0, sendMs = 0, writeError }: Options = {},
) => {
  let now = NOW_MS;
  const sent: { url: string; body: string }[] = [];
  const failingQueues = new Set<string>();
  const continuations: { body: string; messageGroupId: string; waitMs: number }[] = [];
  const returned: [string, number][] = [];
  const deadLetters: { body: string; reason: string; cause: string; detail?: string | undefined }[] = [];
  const notifications: Pick<NotificationRepository, 'targets'> = {
    targets: () => {
      now += readMs;
      return {
        find: async ({ id }) => {
          const error = errorOf(id);
          if (error) throw error;
          return isUnknown(id) ? undefined : { id, type: 'webhook', details: {} };
        },
      };
    },
  };
  let batchCount = 0;
  const queues: Queues = {
    sendAll: async <Message extends OutgoingMessage>(url: string, messages: readonly Message[]) => {
      batchCount++;
      now += sendMs;
      if (failingQueues.has(url)) return [...messages];
      const rejected = messages.filter((message) => !isAccepted(message));
      const accepted = messages.filter((message) => !rejected.includes(message));
      sent.push(...accepted.map((message) => ({ url, body: message.body() })));
      return rejected;
    },
    sendAllDelayed: async () => [],
    sendDelayed: async (url, { body, messageGroupId }, waitMs) => {
      if (url !== environment.ALARM_EVENTS_QUEUE || failingQueues.has(url)) throw new Error('no response');
      if (!isValidContent(body)) throw new Error('InvalidMessageContents');
      continuations.push({ body, messageGroupId, waitMs });
    },
    sendToDeadLetterQueue: async (_url, { body }, { attemptCount: _, ...failure }) => {
      deadLetters.push({ body, ...failure });
    },
    changeVisibility: async (_url, { messageId }, timeoutMs) => {
      returned.push([messageId, timeoutMs]);
    },
  };
  const escalated: string[] = [];
  const escalation: Escalation = {
    isDue: () => true,
    escalate: async ({ event: { event_id } }) => {
      escalated.push(event_id);
    },
  };
  /** The stored lists of destinations, with the number of deliveries that were sent before. */
  const lists: { ids: readonly string[]; sentBefore: number }[] = [];
  const writeDestinationList: WriteDestinationList = async (_event, ids) => {
    if (writeError) throw writeError;
    lists.push({ ids, sentBefore: sent.length });
  };
  const dispatch = createDispatch(notifications, queues, writeDestinationList, escalation, environment, () => now);
  const deliveries = () => sent.map(({ body }) => delivery.parse(parseJson(body)));
  const remaining = () => continuations.map(({ body }) => continuation.parse(parseJson(body)).continuation);
  return {
    dispatch,
    deliveries,
    continuations,
    remaining,
    returned,
    deadLetters,
    escalated,
    lists,
    failingQueues,
    now: () => now,
    batchCount: () => batchCount,
  };
};

const eventMessage = (
  plan: readonly string[],
  { messageId = 'm', sentAtMs = NOW_MS, tenant = 'acme', paddingBytes = 0, timestamp = EVENT_TIME_MS } = {},
): SQSRecord =>
  sqsMessage({
    messageId,
    body: JSON.stringify(
      alarmEvent({
        tenant_id: tenant,
        details: { state: 'CRITICAL', timestamp },
        notification_plan: { critical_state: plan },
        check: { id: 'ch', text: 'x'.repeat(paddingBytes) },
      }),
    ),
    attributes: { ...sqsMessage().attributes, SentTimestamp: String(sentAtMs), ApproximateReceiveCount: '3' },
  });

const continuationMessage = (body: string, messageId = 'continuation'): SQSRecord =>
  sqsMessage({
    messageId,
    body,
    attributes: { ...sqsMessage().attributes, SentTimestamp: String(NOW_MS + 60 * SECOND_MS) },
  });

describe('dispatch', () => {
  it('lists up to 25 other existing notifications of the event in each delivery', async () => {
    const { dispatch, deliveries, lists } = setUp({ isUnknown: (id) => id === 'nt26' });
    await dispatch({ Records: [eventMessage(notificationIds(27))] });
    expect(deliveries()).toHaveLength(26);
    expect(lists).toEqual([]);
    for (const { notification_id, siblings } of deliveries()) {
      expect(siblings).toEqual(notificationIds(26).filter((id) => id !== notification_id));
    }
  });

  it.each([27, 130])(
    'stores the list of the notifications once, before the first delivery, if the plan has %i of them',
    async (notificationCount) => {
      const { dispatch, deliveries, lists } = setUp({ isUnknown: (id) => id === 'nt0' && notificationCount > 27 });
      const ids = notificationIds(notificationCount);
      await dispatch({ Records: [eventMessage(ids, { paddingBytes: 50_000 })] });
      expect(deliveries().every(({ siblings }) => siblings === undefined)).toBe(true);
      expect(lists).toEqual([{ ids, sentBefore: 0 }]);
    },
  );

  it('sends the deliveries of a plan whose list of notifications cannot be stored, which is logged and counted', async () => {
    const { dispatch, deliveries } = setUp({}, { writeError: new UnprocessedKeyError() });
    expect(await dispatch({ Records: [eventMessage(notificationIds(27))] })).toEqual({ batchItemFailures: [] });
    expect(deliveries()).toHaveLength(27);
    expect(logger.error).toHaveBeenCalledExactlyOnceWith('destinations not stored', expect.anything());
    expect(vi.mocked(process.stdout.write).mock.calls.flat().join('')).toContain('"destinations_not_stored":1');
  });

  it('sends the deliveries of several events in one SQS batch', async () => {
    const { dispatch, deliveries, batchCount } = setUp();
    const Records = notificationIds(10).map((id) => eventMessage([id], { messageId: id, tenant: `tenant-${id}` }));
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [] });
    expect([deliveries().length, batchCount()]).toEqual([10, 1]);
  });

  it('returns an event whose notifications cannot be read and sends the other events of the batch', async () => {
    const { dispatch, deliveries, returned } = setUp({
      errorOf: (id) => (id === 'nt0' ? new UnprocessedKeyError() : undefined),
    });
    const Records = [
      eventMessage(['nt0'], { messageId: 'throttled' }),
      eventMessage(['nt1'], { messageId: 'healthy' }),
    ];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: 'throttled' }] });
    expect(deliveries().map(({ notification_id }) => notification_id)).toEqual(['nt1']);
    expect(returned).toEqual([['throttled', 8_000]]);
  });

  it('continues a plan with only the failed notifications, and keeps the list of other notifications and when SQS accepted the event', async () => {
    const first = setUp({ errorOf: (id) => (id === 'nt1' ? new Error('no response') : undefined) });
    const message = eventMessage(notificationIds(3), { sentAtMs: NOW_MS - 5 });
    expect(await first.dispatch({ Records: [message] })).toEqual({ batchItemFailures: [] });
    expect(first.deliveries().map(({ notification_id }) => notification_id)).toEqual(['nt0', 'nt2']);
    const [next] = first.continuations;
    expect(next).toMatchObject({ messageGroupId: 'acme', waitMs: 2_000 });

    const second = setUp();
    await second.dispatch({ Records: [continuationMessage(next?.body ?? '')] });
    const [sibling] = first.deliveries();
    const [last, ...others] = second.deliveries();
    expect(others).toEqual([]);
    expect(last).toMatchObject({ notification_id: 'nt1', siblings: ['nt0', 'nt2'] });
    expect(last?.accepted_at_ms).toBe(sibling?.accepted_at_ms);
    expect(last?.content_hash).toBe(sibling?.content_hash);
  });

  it('neither lists nor stores the other notifications in the continuation of a plan with more than 26', async () => {
    const first = setUp({ errorOf: (id) => (/nt11[89]/.test(id) ? new UnprocessedKeyError() : undefined) });
    await first.dispatch({ Records: [eventMessage(notificationIds(120))] });
    const second = setUp();
    await second.dispatch({ Records: [continuationMessage(first.continuations[0]?.body ?? '')] });
    expect(second.deliveries().map(({ siblings }) => siblings)).toEqual([undefined, undefined]);
    expect([first.lists.length, second.lists.length]).toEqual([1, 0]);
  });

  it('stores the list of notifications in the pass that sends the first delivery', async () => {
    const ids = notificationIds(300);
    const first = setUp({ isUnknown: () => true }, { readMs: 10 * SECOND_MS });
    await first.dispatch({ Records: [eventMessage(ids)] });
    const second = setUp();
    await second.dispatch({ Records: [continuationMessage(first.continuations[0]?.body ?? '')] });
    expect(first.lists).toEqual([]);
    expect(second.deliveries()).toHaveLength(200);
    expect(second.lists).toEqual([{ ids: ids.slice(100), sentBefore: 0 }]);
  });

  it('returns an event whose continuation cannot be sent', async () => {
    const { dispatch, failingQueues, returned } = setUp({
      errorOf: (id) => (id === 'nt1' ? new Error('no response') : undefined),
    });
    failingQueues.add(environment.ALARM_EVENTS_QUEUE);
    expect(await dispatch({ Records: [eventMessage(notificationIds(3))] })).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm' }],
    });
    expect(returned).toEqual([['m', 8_000]]);
  });

  it('returns an event if none of its deliveries can be sent', async () => {
    const { dispatch, failingQueues, continuations } = setUp();
    failingQueues.add(environment.SENDER_QUEUES.webhook);
    expect(await dispatch({ Records: [eventMessage(notificationIds(3))] })).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm' }],
    });
    expect(continuations).toEqual([]);
  });

  it('logs the message ID of an event with unknown notifications, which finds the escalation', async () => {
    const { dispatch } = setUp({ isUnknown: () => true });
    await dispatch({ Records: [eventMessage(['nt0'], { messageId: 'message' })] });
    const ids = expect.objectContaining({ message_id: 'message', event_id: expect.any(String), unknown: 1 });
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('unknown notifications', ids);
  });

  it('escalates an event once its last notification is found not to exist, after reads that failed', async () => {
    const passes = [['nt1', 'nt2'], ['nt2'], []].map((failing) =>
      setUp({
        isUnknown: () => true,
        errorOf: (id) => (failing.includes(id) ? new Error('no response') : undefined),
      }),
    );
    let message = eventMessage(notificationIds(3));
    for (const { dispatch, continuations } of passes) {
      expect(await dispatch({ Records: [message] })).toEqual({ batchItemFailures: [] });
      message = continuationMessage(continuations[0]?.body ?? '');
    }
    expect(passes.map(({ escalated }) => escalated.length)).toEqual([0, 0, 1]);
  });

  it('does not escalate an event that was sent to one notification before the others were found not to exist', async () => {
    const first = setUp({
      isUnknown: (id) => id === 'nt1',
      errorOf: (id) => (id === 'nt2' ? new Error('no response') : undefined),
    });
    await first.dispatch({ Records: [eventMessage(notificationIds(3))] });
    const second = setUp({ isUnknown: () => true });
    await second.dispatch({ Records: [continuationMessage(first.continuations[0]?.body ?? '')] });
    expect([first, second].map(({ escalated }) => escalated.length)).toEqual([0, 0]);
  });
});

describe('dispatch of large events', () => {
  const large = (index: number) =>
    eventMessage([`large${index}`], { messageId: `large${index}`, paddingBytes: 100_000, sentAtMs: NOW_MS - index });
  const small = eventMessage(['small'], { messageId: 'small' });

  it('follows that of the small events of the batch, oldest first', async () => {
    const { dispatch, deliveries } = setUp();
    const Records = [large(1), large(3), small, large(2)];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [] });
    const sent = deliveries().map(({ notification_id }) => notification_id);
    expect(sent).toEqual(['small', 'large3', 'large2', 'large1']);
  });

  it('returns those that it has no time to parse to the queue, without an internal error', async () => {
    const { dispatch, deliveries, returned } = setUp({}, { sendMs: 10_000 });
    expect(await dispatch({ Records: [large(1), small, large(2)] })).toEqual({
      batchItemFailures: [{ itemIdentifier: 'large2' }, { itemIdentifier: 'large1' }],
    });
    expect(deliveries().map(({ notification_id }) => notification_id)).toEqual(['small']);
    expect(returned).toEqual([
      ['large2', 2_000],
      ['large1', 2_000],
    ]);
    expect(printedMetrics()).toMatchObject({ deferred: 2 });
    expect(printedMetrics()).not.toHaveProperty('internal_errors');
    expect(logger.error).not.toHaveBeenCalled();
  });

  it('is not delayed by a large plan of a small event for longer than a third of the pass', async () => {
    const { dispatch, deliveries, remaining } = setUp({}, { readMs: 500, sendMs: 1_500 });
    const Records = [eventMessage(notificationIds(1_000)), large(1)];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [] });
    const sent = deliveries().map(({ notification_id }) => notification_id);
    expect(sent.at(-1)).toBe('large1');
    expect(remaining().map(({ ids }) => ids.length + sent.length - 1)).toEqual([1_000]);
  });
});

describe('the dispatch of a large plan', () => {
  it('sends exactly one delivery per notification in passes of at most 15 s plus one slice', async () => {
    let message = eventMessage(notificationIds(2_000), { paddingBytes: 10_000 });
    const delivered: string[] = [];
    let passCount = 0;
    while (passCount < 50) {
      passCount++;
      const pass = setUp({}, { readMs: 500, sendMs: 1_500 });
      expect(await pass.dispatch({ Records: [message] })).toEqual({ batchItemFailures: [] });
      expect(pass.now() - NOW_MS).toBeLessThanOrEqual(15 * SECOND_MS + 2_000);
      delivered.push(...pass.deliveries().map(({ notification_id }) => notification_id));
      const [next] = pass.continuations;
      if (!next) break;
      expect(next.waitMs).toBe(0);
      message = continuationMessage(next.body);
    }
    expect(passCount).toBe(3);
    expect(delivered.toSorted()).toEqual(notificationIds(2_000).toSorted());
  });

  it('reaches every notification although an unknown ID contains a character that SQS rejects', async () => {
    const character = '\uffff';
    const unknown = `nt${character}`;
    const ids = notificationIds(130).toSpliced(110, 0, unknown);
    const escaped = `nt\\u${character.charCodeAt(0).toString(16)}`;
    const event = eventMessage(ids);
    let message = { ...event, body: event.body.replace(unknown, escaped) };
    const delivered: string[] = [];
    for (let pass = 0; pass < 2; pass++) {
      const { dispatch, deliveries, continuations } = setUp({ isUnknown: (id) => id === unknown }, { readMs: 8_000 });
      expect(await dispatch({ Records: [message] })).toEqual({ batchItemFailures: [] });
      delivered.push(...deliveries().map(({ notification_id }) => notification_id));
      message = continuationMessage(continuations[0]?.body ?? '');
    }
    expect(delivered.toSorted()).toEqual(notificationIds(130).toSorted());
  });

  it('does not delay small plans and shares the time with other large plans', async () => {
    const { dispatch, deliveries, remaining } = setUp({}, { readMs: 1_000, sendMs: 2_000 });
    const Records = [
      eventMessage(notificationIds(1_000, 'first'), { messageId: 'first' }),
      eventMessage(notificationIds(1_000, 'second'), { messageId: 'second' }),
      eventMessage(['small'], { messageId: 'small' }),
    ];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [] });
    const sent = deliveries().map(({ notification_id }) => notification_id);
    expect(sent[0]).toBe('small');
    const sentCount = (prefix: string) => sent.filter((id) => id.startsWith(prefix)).length;
    expect(sentCount('first')).toBe(sentCount('second'));
    expect(remaining().map((rest) => rest.ids.length)).toEqual([
      1_000 - sentCount('first'),
      1_000 - sentCount('second'),
    ]);
  });

  it('creates at most 4 MB of messages at a time', async () => {
    const { dispatch, batchCount, deliveries } = setUp();
    await dispatch({ Records: [eventMessage(notificationIds(100), { paddingBytes: 800_000 })] });
    expect(deliveries()).toHaveLength(100);
    expect(batchCount()).toBe(20);
  });
});

describe('dispatch of a message with attributes', () => {
  const text = (stringValue: string) => ({ dataType: 'String' as const, stringValue });
  const attributes = {
    traceparent: text(traceFields.traceparent),
    tracestate: text(traceFields.tracestate),
    producer_message_id: text('original-1'),
  };
  const trace = { id: TRACE_ID, headers: traceFields };

  it('passes the trace on, the time, and the ID of the message that was dead-lettered before', async () => {
    const { dispatch, deliveries, now } = setUp();
    await dispatch({ Records: [{ ...eventMessage(['nt0']), messageAttributes: attributes }] });
    const origin = { producer_message_id: 'original-1', trace };
    expect(deliveries()).toMatchObject([{ ...origin, dispatched_at_ms: now() }]);
    await dispatch({
      Records: [{ ...eventMessage(['nt0']), messageAttributes: { producer_message_id: text('a b') } }],
    });
    expect(deliveries()[1]).toMatchObject({ producer_message_id: 'm' });
  });

  it('logs the ID of the trace, once for each event', async () => {
    const { dispatch } = setUp();
    const ids = { message_id: 'm', tenant_id: 'acme', event_id: alarmEvent().event_id };
    await dispatch({ Records: [{ ...eventMessage(['nt0']), messageAttributes: attributes }] });
    await dispatch({ Records: [eventMessage(['nt0'])] });
    expect(logger.info).toHaveBeenCalledExactlyOnceWith('event dispatched', { ...ids, trace_id: TRACE_ID });
  });

  it('keeps them for the redrive of an invalid event', async () => {
    const { dispatch, deadLetters } = setUp();
    await dispatch({ Records: [sqsMessage({ body: '{', messageAttributes: attributes })] });
    expect(deadLetters).toMatchObject([{ origin: { producer_message_id: 'original-1', trace } }]);
    expect(logger.warn).toHaveBeenCalledWith('invalid event', expect.objectContaining({ trace_id: TRACE_ID }));
  });
});

const LISTS = 'critical_state, warning_state, ok_state';

const plannedEvent = alarmEvent({ notification_plan: { critical_state: ['nt0'] } });

/** Dispatches one event, given as JSON or as changes of a valid one, and returns what was reported. */
const dispatchEvent = async (event: string | Partial<AlarmEvent>, { isThrottled = false } = {}) => {
  const body = typeof event === 'string' ? event : JSON.stringify({ ...plannedEvent, ...event });
  const { dispatch, deadLetters, deliveries } = setUp({
    errorOf: () => (isThrottled ? new UnprocessedKeyError() : undefined),
  });
  const attributes = { ...sqsMessage().attributes, MessageGroupId: 'group', SentTimestamp: String(NOW_MS) };
  const { batchItemFailures } = await dispatch({ Records: [sqsMessage({ messageId: 'm', body, attributes })] });
  expect(logger.error).not.toHaveBeenCalled();
  return {
    deadLetters,
    delivered: deliveries().map(({ notification_id }) => notification_id),
    isReturned: batchItemFailures.length > 0,
    logged: vi.mocked(logger.warn).mock.calls,
    metrics: printedMetrics(),
  };
};

/** The log fields of the event that `dispatchEvent` sends. */
const IDS = { message_id: 'm', tenant_id: 'acme', event_id: alarmEvent().event_id };

describe('dispatch of an invalid event', () => {
  it('dead-letters it, and logs the field and the rule as a warning without its content', async () => {
    const { deadLetters, logged, metrics } = await dispatchEvent(
      JSON.stringify({ ...plannedEvent, details: { state: 'private' } }),
    );
    const failure = {
      reason: 'malformed',
      cause: 'producer',
      detail: 'details.state must be one of OK, WARNING, CRITICAL',
    };
    expect(deadLetters).toEqual([
      { body: expect.stringContaining('private'), ...failure, origin: { producer_message_id: 'm' } },
    ]);
    expect(logged).toEqual([['invalid event', { ...IDS, ...failure }]]);
    expect(metrics).toMatchObject({ producer_errors: 1, producer_faults: 1 });
  });

  it('reports all errors, and the warnings that it would have otherwise', async () => {
    const { deadLetters, logged, metrics } = await dispatchEvent({
      alarm: { id: '' },
      details: { state: 'CRITICAL', timestamp: 0 },
      notification_plan: { critical: ['nt0'] },
    });
    const fields = {
      detail: `alarm.id must not be empty; notification_plan must have at least one of ${LISTS}`,
      warnings: `details.timestamp must be a time in epoch milliseconds: a whole number of at least 1000000000000; notification_plan must have no lists other than ${LISTS}`,
    };
    expect(deadLetters).toMatchObject([fields]);
    expect(logged).toMatchObject([['invalid event', fields]]);
    expect(metrics).not.toHaveProperty('producer_warnings');
  });

  it.each([
    ['the message group', '{', { tenant_id: 'group', event_id: undefined }],
    ['the event', '{"tenant_id":"acme"}', { tenant_id: 'acme', event_id: undefined }],
    ['valid IDs only', '{"tenant_id":"a b","event_id":"e"}', { tenant_id: 'group', event_id: 'e' }],
  ])('logs the IDs that can be read: %s', async (_, body, ids) => {
    const { logged } = await dispatchEvent(body);
    expect(logged).toMatchObject([['invalid event', ids]]);
  });
});

describe('dispatch of an event that breaks a rule although it can be delivered', () => {
  it('delivers it, and logs and counts the warning', async () => {
    const { delivered, deadLetters, logged, metrics } = await dispatchEvent({
      notification_plan: { critical_state: ['nt0'], warning: ['nt1'] },
    });
    const rule = `notification_plan must have no lists other than ${LISTS}`;
    expect([delivered, deadLetters]).toEqual([['nt0'], []]);
    expect(logged).toEqual([['event with warnings', { ...IDS, warnings: rule }]]);
    expect(metrics).toMatchObject({ producer_warnings: 1, producer_faults: 1 });
    expect(metrics).not.toHaveProperty('producer_errors');
  });

  it('counts it once, when its message is acknowledged', async () => {
    const changes = { details: { state: 'CRITICAL' as const, timestamp: 0 } };
    const { isReturned, metrics } = await dispatchEvent(changes, { isThrottled: true });
    expect(isReturned).toBe(true);
    expect(metrics).not.toHaveProperty('producer_warnings');
  });

  it('does not count it again in a continuation', async () => {
    const first = setUp({ errorOf: (id) => (id === 'nt1' ? new Error('no response') : undefined) });
    await first.dispatch({ Records: [eventMessage(notificationIds(2), { timestamp: 0 })] });
    expect(printedMetrics()).toMatchObject({ producer_warnings: 1 });
    const before = metricLines().length;
    const second = setUp();
    await second.dispatch({ Records: [continuationMessage(first.continuations[0]?.body ?? '')] });
    expect(second.deliveries()).toHaveLength(1);
    for (const line of metricLines().slice(before)) expect(line).not.toHaveProperty('producer_warnings');
  });
});

describe('dispatch of an event without destinations', () => {
  it('logs and counts it, without an error or a warning', async () => {
    const { delivered, deadLetters, logged, metrics } = await dispatchEvent({
      notification_plan: { ok_state: ['nt0'] },
    });
    expect([delivered, deadLetters]).toEqual([[], []]);
    expect(logged).toEqual([['event without destination', IDS]]);
    expect(metrics).toMatchObject({ events_without_destination: 1 });
    expect(metrics).not.toHaveProperty('producer_faults');
  });

  it('does not count an event whose state did not change, which needs none', async () => {
    const { logged, metrics } = await dispatchEvent({
      previous_state: 'CRITICAL',
      notification_plan: { ok_state: [] },
    });
    expect(logged).toEqual([]);
    expect(metrics).not.toHaveProperty('events_without_destination');
  });
});

describe('the number of received events', () => {
  const received = (message: SQSRecord, ApproximateReceiveCount = '1'): SQSRecord => ({
    ...message,
    attributes: { ...message.attributes, ApproximateReceiveCount },
  });

  it('counts each event when it is first received, also if it cannot be processed', async () => {
    const { dispatch } = setUp({ errorOf: (id) => (id === 'nt0' ? new Error('no table') : undefined) });
    await dispatch({ Records: [received(eventMessage(['nt0'])), received(eventMessage(['nt1']))] });
    expect(printedMetrics()).toMatchObject({ events_received: 2 });
  });

  it('counts a large event once, when it is deferred', async () => {
    const { dispatch } = setUp({}, { sendMs: 10_000 });
    const large = (count: string) =>
      received(eventMessage(['large'], { messageId: 'large', paddingBytes: 100_000 }), count);
    await dispatch({ Records: [received(eventMessage(['small']), '2'), large('1')] });
    expect(printedMetrics()).toMatchObject({ deferred: 1, events_received: 1 });
    await dispatch({ Records: [large('2')] });
    expect(metricLines().filter((line) => 'events_received' in line)).toHaveLength(1);
  });

  it('counts neither events that return, nor continuations, nor invalid events', async () => {
    const first = setUp({ errorOf: (id) => (id === 'nt1' ? new Error('no response') : undefined) });
    await first.dispatch({ Records: [received(eventMessage(notificationIds(3)), '2')] });
    await setUp().dispatch({ Records: [received(continuationMessage(first.continuations[0]?.body ?? ''))] });
    await setUp().dispatch({ Records: [received(sqsMessage({ body: '{}' }))] });
    expect(printedMetrics()).not.toHaveProperty('events_received');
  });
});

describe('a heartbeat', () => {
  const heartbeat = (SenderId: string): SQSRecord =>
    sqsMessage({
      body: JSON.stringify(heartbeatEvent('d32c5kddcf5bb8c3', '2026-01-01T00:00:00Z')),
      attributes: { ...sqsMessage().attributes, SenderId, SentTimestamp: String(NOW_MS) },
    });

  it('of the schedule goes to its sender without a stored notification, and emits no metrics', async () => {
    const { dispatch, deliveries } = setUp({ isUnknown: () => true });
    expect(await dispatch({ Records: [heartbeat('AROAHEARTBEAT:session')] })).toEqual({ batchItemFailures: [] });
    expect(deliveries()).toMatchObject([{ notification_id: 'nt00000000000000000HEARTBEAT', accepted_at_ms: NOW_MS }]);
    expect(metricLines()).toEqual([]);
  });

  it('is given up if its notification cannot be read, without metrics', async () => {
    const { dispatch, deliveries, returned } = setUp({ errorOf: () => new Error('no table') });
    expect(await dispatch({ Records: [heartbeat('AROAHEARTBEAT:session')] })).toEqual({ batchItemFailures: [] });
    expect([deliveries(), returned, metricLines()]).toEqual([[], [], []]);
    expect(logger.error).toHaveBeenCalledExactlyOnceWith('notification not read', expect.anything());
  });

  it('is not what another tenant lists in its plan', async () => {
    const { dispatch, deliveries } = setUp({ isUnknown: () => true });
    await dispatch({ Records: [eventMessage(['nt00000000000000000HEARTBEAT'])] });
    expect(deliveries()).toEqual([]);
  });

  it.each(['AROAPRODUCER:session', 'AROAHEARTBEAT2:session', 'AIDAHEARTBEAT'])(
    'of a producer is dead-lettered as its error: %s',
    async (sender) => {
      const { dispatch, deliveries, deadLetters } = setUp();
      await dispatch({ Records: [heartbeat(sender)] });
      expect(deliveries()).toEqual([]);
      expect(deadLetters).toMatchObject([{ cause: 'producer', detail: 'tenant_id must not be the reserved one' }]);
    },
  );

  it('of a producer is dead-lettered as a continuation', async () => {
    const { dispatch, deliveries, deadLetters } = setUp();
    const { notification_plan: _, ...event } = heartbeatEvent('d32c5kddcf5bb8c3', '2026-01-01T00:00:00Z');
    const rest = { ids: ['nt00000000000000000HEARTBEAT'], is_partly_sent: false, accepted_at_ms: NOW_MS };
    await dispatch({ Records: [continuationMessage(JSON.stringify({ continuation: rest, event }))] });
    expect([deliveries(), deadLetters]).toMatchObject([[], [{ reason: 'malformed' }]]);
  });
});
