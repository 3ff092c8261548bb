import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { UnprocessedKeyError } from '../../shared/adapters/dynamodb/errors.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { NotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import type { OutgoingMessage, Queues } from '../../shared/adapters/queues.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { continuation, delivery } from '../../shared/contracts/messages.ts';
import { createDispatch } from '../../shared/pipeline/dispatch/dispatch.ts';
import { alarmEvent } from '../support/events.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const queue = (name: string) => `https://sqs.example.com/1/${name}`;
const environment = {
  ALARM_EVENTS_QUEUE: queue('AlarmEvents'),
  DEAD_LETTER_QUEUE: queue('DeadLetters'),
  SENDER_QUEUES: {
    email: queue('email'),
    technicalContactsEmail: queue('technicalContactsEmail'),
    webhook: queue('webhook'),
    sms: queue('sms'),
    incidentpager: queue('incidentpager'),
    incidentrouter: queue('incidentrouter'),
    atomfeed: queue('atomfeed'),
    managed: queue('managed'),
  },
};

beforeEach(() => {
  for (const level of ['info', 'warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
  return () => vi.restoreAllMocks();
});

/** Ids of so many notifications. */
const ids = (count: number, prefix = 'nt') => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

type Reads = { unknown?: (id: string) => boolean; failing?: (id: string) => Error | undefined };

/** A dispatch whose reads and sends take their time, by a clock that they move. */
const setUp = ({ unknown = () => false, failing = () => undefined }: Reads = {}, { readMs = 0, sendMs = 0 } = {}) => {
  let now = NOW;
  const sent: { url: string; body: string }[] = [];
  const refused = new Set<string>();
  const continued: { body: string; messageGroupId: string; waitMs: number }[] = [];
  const returned: [string, number][] = [];
  const notifications: Pick<NotificationRepository, 'targets'> = {
    targets: () => {
      now += readMs;
      return {
        find: async ({ id }) => {
          const error = failing(id);
          if (error) throw error;
          return unknown(id) ? undefined : { id, type: 'webhook', details: {} };
        },
      };
    },
  };
  let batches = 0;
  const queues: Queues = {
    sendAll: async <Message extends OutgoingMessage>(url: string, messages: readonly Message[]) => {
      batches++;
      now += sendMs;
      if (refused.has(url)) return [...messages];
      sent.push(...messages.map((message) => ({ url, body: message.body() })));
      return [];
    },
    sendAllDelayed: async () => [],
    sendDelayed: async (url, { body, messageGroupId }, waitMs) => {
      if (url !== environment.ALARM_EVENTS_QUEUE || refused.has(url)) throw new Error('refused');
      continued.push({ body, messageGroupId, waitMs });
    },
    sendToDeadLetterQueue: async () => undefined,
    changeVisibility: async (_url, { messageId }, seconds) => {
      returned.push([messageId, seconds]);
    },
  };
  const dispatch = createDispatch(notifications, queues, environment, () => now);
  const deliveries = () => sent.map(({ body }) => delivery.parse(parseJson(body)));
  const remaining = () => continued.map(({ body }) => continuation.parse(parseJson(body)).continuation);
  return { dispatch, deliveries, continued, remaining, returned, refused, now: () => now, batches: () => batches };
};

const eventMessage = (
  plan: readonly string[],
  { messageId = 'm', sentAt = NOW, tenant = 'acme', pad = 0 } = {},
): SQSRecord =>
  sqsMessage({
    messageId,
    body: JSON.stringify(
      alarmEvent({
        tenant_id: tenant,
        notification_plan: { critical_state: plan },
        check: { id: 'ch', text: 'x'.repeat(pad) },
      }),
    ),
    attributes: { ...sqsMessage().attributes, SentTimestamp: String(sentAt), ApproximateReceiveCount: '3' },
  });

const continuationMessage = (body: string, messageId = 'again'): SQSRecord =>
  sqsMessage({
    messageId,
    body,
    attributes: { ...sqsMessage().attributes, SentTimestamp: String(NOW + 60 * SECOND) },
  });

describe('the dispatch of a plan', () => {
  it('names up to 25 other notifications of the event in each delivery, and none of those that do not exist', async () => {
    const { dispatch, deliveries } = setUp({ unknown: (id) => id === 'nt26' });
    await dispatch({ Records: [eventMessage(ids(27))] });
    expect(deliveries()).toHaveLength(26);
    for (const { notification_id, siblings } of deliveries()) {
      expect(siblings).toEqual(ids(26).filter((id) => id !== notification_id));
    }
  });

  it('names no other notification where there are more than 25 of them', async () => {
    const { dispatch, deliveries } = setUp();
    await dispatch({ Records: [eventMessage(ids(27))] });
    expect(deliveries().map(({ siblings }) => siblings)).toEqual(Array(27).fill(undefined));
  });

  it('shares the queue requests of all events of a batch', async () => {
    const { dispatch, deliveries, batches } = setUp();
    const Records = ids(10).map((id) => eventMessage([id], { messageId: id, tenant: `tenant-${id}` }));
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [] });
    expect([deliveries().length, batches()]).toEqual([10, 1]);
  });

  it('returns an event none of whose notifications could be read, and sends those of its neighbors', async () => {
    const { dispatch, deliveries, returned } = setUp({
      failing: (id) => (id === 'nt0' ? new UnprocessedKeyError() : undefined),
    });
    const Records = [eventMessage(['nt0'], { messageId: 'throttled' }), eventMessage(['nt1'], { messageId: 'well' })];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: 'throttled' }] });
    expect(deliveries().map(({ notification_id }) => notification_id)).toEqual(['nt1']);
    expect(returned).toEqual([['throttled', 8]]);
  });

  it('continues with those alone that failed where others are on their way, and keeps their siblings and time', async () => {
    const first = setUp({ failing: (id) => (id === 'nt1' ? new Error('no answer') : undefined) });
    const message = eventMessage(ids(3), { sentAt: NOW - 5 });
    expect(await first.dispatch({ Records: [message] })).toEqual({ batchItemFailures: [] });
    expect(first.deliveries().map(({ notification_id }) => notification_id)).toEqual(['nt0', 'nt2']);
    const [next] = first.continued;
    expect(next).toMatchObject({ messageGroupId: 'acme', waitMs: 2_000 });

    const second = setUp();
    await second.dispatch({ Records: [continuationMessage(next?.body ?? '')] });
    const [sibling] = first.deliveries();
    const [last, ...others] = second.deliveries();
    expect(others).toEqual([]);
    expect(last).toMatchObject({ notification_id: 'nt1', siblings: ['nt0', 'nt2'] });
    expect(last?.event_time_ms).toBe(sibling?.event_time_ms);
    expect(last?.content_hash).toBe(sibling?.content_hash);
  });

  it('names no other notification in what continues a plan of more than 26', async () => {
    const first = setUp({ failing: (id) => (/nt11[89]/.test(id) ? new UnprocessedKeyError() : undefined) });
    await first.dispatch({ Records: [eventMessage(ids(120))] });
    const second = setUp();
    await second.dispatch({ Records: [continuationMessage(first.continued[0]?.body ?? '')] });
    expect(second.deliveries().map(({ siblings }) => siblings)).toEqual([undefined, undefined]);
  });

  it('names the other notifications however large the event is', async () => {
    const { dispatch, deliveries } = setUp();
    await dispatch({ Records: [eventMessage(ids(10), { pad: 800_000 })] });
    expect(deliveries().map(({ siblings }) => siblings?.length)).toEqual(Array(10).fill(9));
  });

  it('returns the event where its continuation cannot be sent', async () => {
    const { dispatch, refused, returned } = setUp({
      failing: (id) => (id === 'nt1' ? new Error('no answer') : undefined),
    });
    refused.add(environment.ALARM_EVENTS_QUEUE);
    expect(await dispatch({ Records: [eventMessage(ids(3))] })).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm' }],
    });
    expect(returned).toEqual([['m', 8]]);
  });

  it('returns an event whose queue takes nothing', async () => {
    const { dispatch, refused, continued } = setUp();
    refused.add(environment.SENDER_QUEUES.webhook);
    expect(await dispatch({ Records: [eventMessage(ids(3))] })).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm' }],
    });
    expect(continued).toEqual([]);
  });

  it('is done where no notification of the plan exists', async () => {
    const { dispatch, continued } = setUp({ unknown: () => true });
    expect(await dispatch({ Records: [eventMessage(ids(3))] })).toEqual({ batchItemFailures: [] });
    expect(continued).toEqual([]);
  });
});

describe('the dispatch of a large plan', () => {
  it('takes passes of at most 15 s and a slice, until every notification has exactly one delivery', async () => {
    let message = eventMessage(ids(2_000), { pad: 10_000 });
    const delivered: string[] = [];
    let passes = 0;
    while (passes < 50) {
      passes++;
      const pass = setUp({}, { readMs: 500, sendMs: 1_500 });
      expect(await pass.dispatch({ Records: [message] })).toEqual({ batchItemFailures: [] });
      expect(pass.now() - NOW).toBeLessThanOrEqual(15 * SECOND + 2_000);
      delivered.push(...pass.deliveries().map(({ notification_id }) => notification_id));
      const [next] = pass.continued;
      if (!next) break;
      expect(next.waitMs).toBe(0);
      message = continuationMessage(next.body);
    }
    expect(passes).toBe(3);
    expect(delivered.toSorted()).toEqual(ids(2_000).toSorted());
  });

  it('does not delay the small ones of its batch, and shares the time with other large ones', async () => {
    const { dispatch, deliveries, remaining } = setUp({}, { readMs: 1_000, sendMs: 2_000 });
    const Records = [
      eventMessage(ids(1_000, 'one'), { messageId: 'one' }),
      eventMessage(ids(1_000, 'other'), { messageId: 'other' }),
      eventMessage(['small'], { messageId: 'small' }),
    ];
    expect(await dispatch({ Records })).toEqual({ batchItemFailures: [] });
    const sent = deliveries().map(({ notification_id }) => notification_id);
    expect(sent[0]).toBe('small');
    const of = (prefix: string) => sent.filter((id) => id.startsWith(prefix)).length;
    expect(of('one')).toBe(of('other'));
    expect(remaining().map((rest) => rest.ids.length)).toEqual([1_000 - of('one'), 1_000 - of('other')]);
  });

  it('makes no more than 4 MB of messages at a time, however large the event is', async () => {
    const { dispatch, batches, deliveries } = setUp();
    await dispatch({ Records: [eventMessage(ids(100), { pad: 800_000 })] });
    expect(deliveries()).toHaveLength(100);
    expect(batches()).toBe(20);
  });
});
