import { beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { MAX_DELAY_SECONDS, type Queues } from '../../shared/adapters/queues.ts';
import type { SummarySettings } from '../../shared/contracts/account.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { summarizedAlarm } from '../../shared/domain/summary.ts';
import { createDeliver } from '../../shared/pipeline/sender/deliver.ts';
import { createJob } from '../../shared/pipeline/sender/delivery-job.ts';
import { createEarlyMessageCheck } from '../../shared/pipeline/sender/early-messages.ts';
import { createRequeue } from '../../shared/pipeline/sender/requeue.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent, deliveryMessage, headerOf, readDelivery } from '../support/events.ts';
import { senderDependencies } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

/*
 * Senders with clocks of their own, and a queue with the clock of SQS. Unlike those of the simulation, the clocks can be
 * minutes off, and accounts with a daily limit have summaries.
 */

const { client } = useDatabase();

const START_MS = Date.UTC(2026, 0, 1, 12);
const MINUTE_MS = 60_000;
const VISIBILITY_TIMEOUT_MS = 180_000;

beforeEach(() => {
  for (const level of ['warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

/** A message and its times by the clock of SQS; `dueAtMs` is the attribute of one that waits for long. */
type Queued = {
  id: number;
  body: string;
  sentAtMs: number;
  visibleAtMs: number;
  dueAtMs: number | undefined;
  firstReceivedAtMs?: number;
  receiveCount: number;
};

type Options = { settings?: SummarySettings | undefined; dailyLimit?: number };

const summarizing: Options = { settings: { email_after: 2, sms_after: 1, window_minutes: 1 } };

const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };
const overLimit = failed('permanent', 'tenant_limit_exceeded', '', { canBeSummarized: true });

const setUp = (skewsMs: readonly number[], type: 'email' | 'sms' = 'email') => {
  let options = summarizing;
  let nowMs = START_MS;
  let messages = 0;
  let alertSends = 0;
  let summarySends = 0;
  const queue = new Map<number, Queued>();
  const notificationId = newNotificationId();
  /** How often each alarm was sent or listed. */
  const arrivals = new Map<string, number>();

  const enqueue = (body: string, waitMs = 0, clockMs = nowMs): void => {
    const seconds = Math.max(0, Math.ceil(waitMs / 1000));
    const id = messages++;
    const visibleAtMs = nowMs + Math.min(seconds, MAX_DELAY_SECONDS) * 1000;
    const dueAtMs = seconds > MAX_DELAY_SECONDS ? clockMs + waitMs : undefined;
    queue.set(id, { id, body, sentAtMs: nowMs, visibleAtMs, dueAtMs, receiveCount: 0 });
  };

  const receive = (message: Queued): void => {
    message.receiveCount++;
    message.firstReceivedAtMs ??= nowMs;
    message.visibleAtMs = nowMs + VISIBILITY_TIMEOUT_MS;
  };

  const startWorker = (skewMs: number) => {
    const clock = () => nowMs + skewMs;
    const queues: Queues = {
      sendAll: async () => [],
      sendToDeadLetterQueue: async () => expect.fail('a delivery was dead-lettered'),
      sendDelayed: async (_url, { body }, waitMs) => enqueue(body, waitMs, clock()),
      changeVisibility: async (_url, { receiptHandle }, timeoutMs) => {
        const message = queue.get(Number(receiptHandle));
        if (message) message.visibleAtMs = nowMs + timeoutMs;
      },
    };
    const dependencies = senderDependencies(client, {
      type,
      queues,
      clock,
      transport: async ({ event, summary }) => {
        if (summary) summarySends++;
        else if (++alertSends > (options.dailyLimit ?? Number.POSITIVE_INFINITY)) return overLimit;
        const names = summary?.alarms.map(({ name }) => name) ?? [summarizedAlarm(event, 0).name];
        for (const name of names) arrivals.set(name, (arrivals.get(name) ?? 0) + 1);
        return delivered;
      },
      isNearLimit: async () =>
        Math.max(alertSends, summarySends) > (options.dailyLimit ?? Number.POSITIVE_INFINITY) / 2,
      accounts: {
        isShadowed: async () => false,
        summaries: async () => options.settings,
      },
    });
    const deliver = createDeliver(dependencies);
    const checkEarly = createEarlyMessageCheck(dependencies);
    const { reschedule } = createRequeue(dependencies);

    /** Processes a message like the sender. */
    const process = async (received: Queued): Promise<void> => {
      const { id, body, sentAtMs, dueAtMs } = received;
      receive(received);
      const job = createJob(type, {
        message: sqsMessage({
          body,
          receiptHandle: String(id),
          attributes: {
            SenderId: 'sender',
            ApproximateReceiveCount: String(received.receiveCount),
            SentTimestamp: String(sentAtMs),
            ApproximateFirstReceiveTimestamp: String(received.firstReceivedAtMs),
          },
        }),
        body: readDelivery(body),
        timeLeft: () => 30_000,
      });
      const isEarly = dueAtMs !== undefined && dueAtMs > clock();
      const isRescheduled = isEarly && (await checkEarly([job])).due.length === 0;
      const { isReturned } = isRescheduled
        ? await reschedule(job, dueAtMs - clock())
        : await deliver(job, Promise.resolve({ id: notificationId, type, details: {} }));
      if (!isReturned) queue.delete(id);
    };

    /** Processes the messages that are visible. */
    return async (): Promise<void> => {
      for (const message of queue.values()) if (message.visibleAtMs <= nowMs) await process(message);
    };
  };

  const workers = skewsMs.map(startWorker);
  /** Lets the sender with this number process the messages that are visible. */
  const process = async (number: number): Promise<void> => workers[number]?.();

  return {
    process,
    /** A sender receives the messages that are visible, and is ended before it processes them. */
    receiveAll: (): void => {
      for (const message of queue.values()) if (message.visibleAtMs <= nowMs) receive(message);
    },
    change: (next: Options): void => {
      options = next;
    },
    advance: (ms: number): void => {
      nowMs += ms;
    },
    /** Sends an alert of an alarm. */
    alert: (label: string): void => {
      const event = alarmEvent({
        event_id: `acme:${notificationId}:${label}:ch:${nowMs}:CRITICAL`,
        details: { state: 'CRITICAL', timestamp: nowMs },
        alarm: { id: label, label },
      });
      const name = summarizedAlarm(headerOf(event), 0).name;
      arrivals.set(name, 0);
      enqueue(deliveryMessage(notificationId, event, nowMs));
    },
    /** Returns how many alerts were sent one by one. */
    sendCount: (): number => alertSends,
    summaryCount: (): number => summarySends,
    /** Processes all messages, by all senders in turns. */
    drain: async (): Promise<number[]> => {
      for (let turn = 0; queue.size > 0; turn++) {
        if (turn > 500) expect.fail('messages are processed again and again');
        await process(turn % workers.length);
        nowMs += 20_000;
      }
      return [...arrivals.values()];
    },
  };
};

const SKEW_MS = 10 * MINUTE_MS;

describe('an alert is listed in a summary that is sent later', () => {
  it('although the clock of its sender is ten minutes slow', async () => {
    const { alert, process, advance, drain } = setUp([0, -SKEW_MS]);
    for (const label of ['a', 'b', 'c']) alert(label);
    await process(0);
    // The summary of the window is sent.
    advance(3 * MINUTE_MS);
    await process(0);
    advance(SKEW_MS - 3 * MINUTE_MS);
    for (const label of ['d', 'e', 'f']) alert(label);
    await process(1);
    expect(await drain()).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('although the clock of the sender that queued the summary is ten minutes fast', async () => {
    const { alert, process, advance, drain } = setUp([0, SKEW_MS]);
    for (const label of ['a', 'b', 'c']) alert(label);
    await process(1);
    advance(2 * MINUTE_MS);
    await process(1);
    advance(SKEW_MS - 2 * MINUTE_MS);
    for (const label of ['d', 'e', 'f']) alert(label);
    await process(0);
    expect(await drain()).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('although a slow clock processes a message that was received before', async () => {
    const { alert, process, receiveAll, advance, drain } = setUp([0, -SKEW_MS]);
    for (const label of ['a', 'b', 'c']) alert(label);
    await process(0);
    alert('d');
    receiveAll();
    // The message becomes visible again after three minutes, and the summary after two.
    advance(2.5 * MINUTE_MS);
    await process(0);
    advance(8 * MINUTE_MS);
    await process(1);
    expect(await drain()).toEqual([1, 1, 1, 1]);
  });
});

describe('alerts of a window', () => {
  it('are listed in the summary of the hour, by all senders, near and above the daily limit', async () => {
    const { alert, process, change, advance, drain, summaryCount } = setUp([0, 0]);
    change({ settings: { email_after: 1, sms_after: 1, window_minutes: 1 }, dailyLimit: 4 });
    for (let minute = 0; minute < 10; minute++) {
      alert(`first of ${minute}`);
      await process(0);
      alert(`second of ${minute}`);
      await process(1);
      advance(MINUTE_MS);
    }
    expect(await drain()).toEqual(Array(20).fill(1));
    // Those of the first minutes, in which at most half of the limit was used, and that of the hour.
    expect(summaryCount()).toBe(3);
  });

  it('use up neither the daily limit nor that of summaries in half a day of four alerts in five minutes', async () => {
    const { alert, process, change, advance, drain, sendCount, summaryCount } = setUp([0], 'sms');
    change({ settings: { email_after: 1, sms_after: 3, window_minutes: 5 }, dailyLimit: 100 });
    for (let window = 0; window < 12 * 12; window++) {
      for (let index = 0; index < 4; index++) alert(`${window}-${index}`);
      await process(0);
      advance(5 * MINUTE_MS);
    }
    expect(await drain()).toEqual(Array(4 * 12 * 12).fill(1));
    expect(sendCount()).toBeLessThanOrEqual(100);
    expect(summaryCount()).toBeLessThanOrEqual(100);
  });
});
