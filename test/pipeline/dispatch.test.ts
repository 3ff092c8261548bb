import type { SQSRecord } from 'aws-lambda';
import { isValidContent } from 'local-aws/sqs/queued-message.ts';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { WriteDestinationList } from '../../shared/adapters/deliveries/destination-list.ts';
import { UnprocessedKeyError } from '../../shared/adapters/dynamodb/errors.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { NotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import type { OutgoingMessage, Queues } from '../../shared/adapters/queues.ts';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseDelivery } from '../../shared/domain/delivery-message.ts';
import { heartbeatEvent } from '../../shared/domain/heartbeat.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createDispatch } from '../../shared/pipeline/dispatch/dispatch.ts';
import { alarmEvent, EVENT_TIME_MS, TRACE_ID, traceFields } from '../support/events.ts';
import { recordMetrics } from '../support/printed-metrics.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const environment = {
  ALARM_EVENTS_QUEUE: queueUrl('AlarmEvents'),
  DEAD_LETTER_QUEUE: queueUrl('DeadLetters'),
  SENDER_QUEUES: senderQueueUrls,
  REPORTS_QUEUE: queueUrl('Reports'),
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
/** `refusals`: how often SQS refuses each message. */
type Options = {
  sendMs?: number;
  writeError?: Error;
  refusals?: number;
};

/** Returns whether SQS accepts a message. Checks its declared size. */
const isAccepted = ({ body, bytes }: OutgoingMessage): boolean => {
  const text = body();
  expect(Buffer.byteLength(text)).toBe(bytes);
  return isValidContent(text);
};

/** Creates a dispatch whose sends advance its clock. */
const setUp = (
  { isUnknown = () => false, errorOf = () => undefined }: Reads = {},
  { sendMs = 0, writeError, refusals = 0 }: Options = {},
) => {
  let now = NOW_MS;
  const sent: string[] = [];
  const refused = new Map<OutgoingMessage, number>();
  const returned: [string, number][] = [];
  const deadLetters: { body: string; reason: string; cause: string; detail?: string | undefined }[] = [];
  const notifications: Pick<NotificationRepository, 'targets'> = {
    targets: () => ({
      find: async ({ id }) => {
        const error = errorOf(id);
        if (error) throw error;
        return isUnknown(id) ? undefined : { id, type: 'webhook', details: {} };
      },
    }),
  };
  let batchCount = 0;
  const queues: Queues = {
    sendAll: async <Message extends OutgoingMessage>(_url: string, messages: readonly Message[]) => {
      batchCount++;
      now += sendMs;
      const isRefused = (message: Message): boolean => {
        const count = (refused.get(message) ?? 0) + 1;
        refused.set(message, count);
        return count <= refusals;
      };
      const rejected = messages.filter((message) => isRefused(message) || !isAccepted(message));
      const accepted = messages.filter((message) => !rejected.includes(message));
      sent.push(...accepted.map(({ body }) => body()));
      return rejected;
    },
    sendDelayed: async () => {
      throw new Error('Dispatch sends no delayed messages.');
    },
    sendToDeadLetterQueue: async (_url, { body }, { attemptCount: _, ...failure }) => {
      deadLetters.push({ body, ...failure });
    },
    changeVisibility: async (_url, { messageId }, timeoutMs) => {
      returned.push([messageId, timeoutMs]);
    },
  };
  /** The stored lists of destinations, with the number of deliveries that were sent before. */
  const lists: { ids: readonly string[]; sentBefore: number }[] = [];
  const writeDestinationList: WriteDestinationList = async (_event, ids) => {
    if (writeError) throw writeError;
    lists.push({ ids, sentBefore: sent.length });
  };
  const dispatch = createDispatch(
    notifications,
    queues,
    writeDestinationList,
    environment,
    () => now,
    async (delayMs) => {
      now += delayMs;
    },
  );
  const deliveries = () => sent.flatMap((body) => parseDelivery(body) ?? []);
  return {
    dispatch,
    deliveries,
    returned,
    deadLetters,
    lists,
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
    attributes: {
      ...sqsMessage().attributes,
      SentTimestamp: String(sentAtMs),
      ApproximateReceiveCount: '3',
    },
  });

/** No notification exists. */
const nobody: Reads = { isUnknown: () => true };

describe('dispatch', () => {
  it('lists up to 25 other notifications of the event in each delivery, also one that is deleted, which an earlier copy may have reached, or cannot be read', async () => {
    const deleted = newNotificationId();
    const ids = [...notificationIds(25), deleted];
    const { dispatch, deliveries, lists } = setUp({
      isUnknown: (id) => id === deleted || id === 'unknown',
      errorOf: (id) => (id === 'nt24' ? new Error('no response') : undefined),
    });
    await dispatch({ Records: [eventMessage([...ids, 'unknown'])] });
    expect([deliveries().length, lists]).toEqual([24, []]);
    for (const { notification_id, siblings } of deliveries())
      expect(siblings).toEqual(ids.filter((id) => id !== notification_id));
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

  const noResponse = new Error('no response');
  it.each<[string, number, Reads, Options, Record<string, number>, number]>([
    ['its list of notifications cannot be stored', 27, {}, { writeError: noResponse }, { internal_errors: 1 }, 0],
    ['SQS refuses one of its deliveries each time', 1, {}, { refusals: 3 }, { internal_errors: 1 }, 0],
    [
      'one of its notifications cannot be read',
      3,
      { errorOf: (id) => (id === 'nt1' ? noResponse : undefined) },
      {},
      { internal_errors: 1, deliveries_planned: 2 },
      2,
    ],
    ['SQS refuses the report of its unknown plan', 1, nobody, { refusals: 1 }, { internal_errors: 1 }, 0],
  ])('returns an event to its queue if %s', async (_, notificationCount, reads, options, metrics, sentCount) => {
    const { dispatch, deliveries, returned } = setUp(reads, options);
    const { batchItemFailures } = await dispatch({ Records: [eventMessage(notificationIds(notificationCount))] });
    expect([batchItemFailures, returned]).toEqual([[{ itemIdentifier: 'm' }], [['m', 8_000]]]);
    expect(deliveries()).toHaveLength(sentCount);
    expect({ internal_errors: 0, ...printedMetrics() }).toMatchObject(metrics);
  });

  it('sends the deliveries of several events in one SQS batch', async () => {
    const { dispatch, deliveries, batchCount } = setUp();
    const Records = notificationIds(10).map((id) => eventMessage([id], { messageId: id, tenant: `tenant-${id}` }));
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [] });
    expect([deliveries().length, batchCount()]).toEqual([10, 1]);
  });

  it('sends a delivery that SQS refuses again within the pass', async () => {
    const { dispatch, deliveries, now } = setUp({}, { refusals: 2 });
    expect(await dispatch({ Records: [eventMessage(['nt0'])] })).toEqual({ batchItemFailures: [] });
    expect(deliveries().map(({ notification_id }) => notification_id)).toEqual(['nt0']);
    expect(now() - NOW_MS).toBe(1_200);
    expect(printedMetrics()).toMatchObject({ deliveries_planned: 1 });
    expect(printedMetrics()).not.toHaveProperty('internal_errors');
  });

  it('logs the message ID of an event with unknown notifications, which finds the escalation, and ten of their IDs', async () => {
    const { dispatch } = setUp(nobody);
    const planned = Array.from({ length: 11 }, (_, index) => `${index}`.padEnd(65, 'x'));
    await dispatch({ Records: [eventMessage(planned, { messageId: 'message' })] });
    const notification_ids = planned.slice(0, 10).map((id) => `${id.slice(0, 64)}…`);
    const ids = { message_id: 'message', event_id: expect.any(String), unknown: 11, notification_ids };
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('unknown notifications', expect.objectContaining(ids));
  });
});

describe('dispatch of large events', () => {
  const large = (index: number, plan = [`large${index}`], paddingBytes = 100_000 + index) =>
    eventMessage(plan, { messageId: `large${index}`, paddingBytes, sentAtMs: NOW_MS - index });
  const small = eventMessage(['small'], { messageId: 'small' });

  it('follows that of the small events of the batch, the smallest first', async () => {
    const { dispatch, deliveries } = setUp();
    const Records = [large(3), large(1), small, large(2)];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [] });
    const sent = deliveries().map(({ notification_id }) => notification_id);
    expect(sent).toEqual(['small', 'large1', 'large2', 'large3']);
  });

  it('returns those that it has no time to finish to the queue, without an internal error', async () => {
    const { dispatch, deliveries, returned } = setUp({}, { sendMs: 8_000 });
    // 250 deliveries of 250 KB take 8 s, about.
    const plan = notificationIds(250);
    const Records = [large(1, plan, 220_000), small, large(2, plan, 230_000)];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: 'large2' }] });
    expect(new Set(deliveries().map(({ notification_id }) => notification_id))).toEqual(new Set(['small', ...plan]));
    expect(returned).toEqual([['large2', 8_000]]);
    expect(printedMetrics()).toMatchObject({ events_not_started: 1 });
    expect(printedMetrics()).not.toHaveProperty('internal_errors');
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('event not started', {
      message_id: 'large2',
      tenant_id: undefined,
    });
  });

  it('parses none that it has no time for', async () => {
    const { dispatch, returned } = setUp({}, { sendMs: 26_000 });
    const full = notificationIds(1_024);
    const invalid = sqsMessage({ messageId: 'invalid', body: `{${' '.repeat(200_000)}` });
    const { batchItemFailures } = await dispatch({ Records: [eventMessage(full, { messageId: 'full' }), invalid] });
    expect(batchItemFailures).toEqual([{ itemIdentifier: 'invalid' }]);
    expect(returned).toEqual([['invalid', 2_000]]);
  });

  it('follows that of events with smaller deliveries, which have time in any case', async () => {
    const { dispatch, deliveries } = setUp({}, { sendMs: 8_000 });
    const plan = notificationIds(250);
    const Records = [large(1, plan, 200_000), large(2, plan, 210_000), large(3, ['one'], 220_000)];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: 'large2' }] });
    expect(deliveries()[0]?.notification_id).toBe('one');
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
    const correlation = { producer_message_id: 'original-1', trace };
    expect(deliveries()).toMatchObject([{ ...correlation, dispatched_at_ms: now() }]);
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
    expect(deadLetters).toMatchObject([{ correlation: { producer_message_id: 'original-1', trace } }]);
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
      { body: expect.stringContaining('private'), ...failure, correlation: { producer_message_id: 'm' } },
    ]);
    expect(logged).toEqual([['invalid event', { ...IDS, ...failure }]]);
    expect(metrics).toMatchObject({ producer_errors: 1, producer_faults: 1 });
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
});

it.each([
  [{ notification_plan: { ok_state: ['nt0'] } }, 'events_without_destination', 'warn', 'event without destination'],
  [{ previous_state: 'CRITICAL', notification_plan: { ok_state: [] } }, 'events_unchanged', 'info', 'event unchanged'],
] as const)(
  'dispatch of an event without destinations logs it with its message ID and counts it, if it has %j, as %s',
  async (changes, metric, level, text) => {
    const { delivered, deadLetters, metrics } = await dispatchEvent(changes);
    expect([delivered, deadLetters]).toEqual([[], []]);
    expect([...vi.mocked(logger.warn).mock.calls, ...vi.mocked(logger.info).mock.calls]).toEqual([[text, IDS]]);
    expect(logger[level]).toHaveBeenCalledOnce();
    const names = Object.keys(metrics).filter((name) => /^(events_[^r]|producer_)/.test(name));
    expect(names).toEqual([metric]);
  },
);

describe('the number of received events', () => {
  const received = (message: SQSRecord, ApproximateReceiveCount = '1'): SQSRecord => ({
    ...message,
    attributes: { ...message.attributes, ApproximateReceiveCount },
  });

  it('counts each event when it is first received, also if it cannot be processed, and no invalid one', async () => {
    const { dispatch } = setUp({ errorOf: (id) => (id === 'nt0' ? new Error('no table') : undefined) });
    const events = ['nt0', 'nt1'].map((id) => eventMessage([id]));
    const Records = [...events, sqsMessage({ body: '{}' })].map((message) => received(message));
    await dispatch({ Records: [...Records, received(eventMessage(notificationIds(3)), '2')] });
    expect(printedMetrics()).toMatchObject({ events_received: 2 });
  });

  it('counts an event that it has no time for once, when it is first received', async () => {
    const { dispatch } = setUp({}, { sendMs: 26_000 });
    const full = eventMessage(notificationIds(1_024), { messageId: 'full' });
    const large = (count: string) =>
      received(eventMessage(['large'], { messageId: 'large', paddingBytes: 100_000 }), count);
    await dispatch({ Records: [received(full, '2'), large('1')] });
    expect(printedMetrics()).toMatchObject({ events_not_started: 1, events_received: 1 });
    await dispatch({ Records: [large('2')] });
    expect(metricLines().filter((line) => 'events_received' in line)).toHaveLength(1);
  });
});

describe('a heartbeat', () => {
  const heartbeat = (SenderId: string): SQSRecord =>
    sqsMessage({
      body: JSON.stringify(heartbeatEvent('d32c5kddcf5bb8c3', '2026-01-01T00:00:00Z')),
      attributes: { ...sqsMessage().attributes, SenderId, SentTimestamp: String(NOW_MS) },
    });

  it('of the schedule goes to its sender without a stored notification, and emits no metrics', async () => {
    const { dispatch, deliveries } = setUp(nobody);
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
    const { dispatch, deliveries } = setUp(nobody);
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
});
