import { randomUUID } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createBatchProcessing } from '../../shared/pipeline/sender/batch.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent, deliveryMessage } from '../support/events.ts';
import { senderDependencies } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();
const NOW_MS = Date.UTC(2026, 0, 1);

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

/** Sets up the webhook sender for one message, whose delivery ends with an outcome and whose first report fails. */
const setUp = (outcome: AttemptOutcome) => {
  const id = newNotificationId();
  const escalateUnreached = vi.fn(async () => true).mockRejectedValueOnce(new Error('secret'));
  const queues = {
    sendAll: async () => [],
    sendDelayed: async () => undefined,
    sendToDeadLetterQueue: async () => undefined,
    changeVisibility: async () => undefined,
  };
  const given = { type: 'webhook', transport: async () => outcome, queues, clock: () => NOW_MS } as const;
  const dependencies = senderDependencies(client, given);
  const process = createBatchProcessing(
    { ...dependencies, reports: { ...dependencies.reports, escalateUnreached } },
    { targets: () => ({ find: async () => ({ id, type: 'webhook', details: {} }) }) },
  );
  const message = sqsMessage({ body: deliveryMessage(id, alarmEvent(), NOW_MS) });
  const receive = async () => (await process({ Records: [message] }, () => 20_000)).batchItemFailures.length;
  return { receive, escalateUnreached };
};

describe('the message of a delivery whose failure cannot be reported', () => {
  it('is received again, and reported, if the delivery has ended', async () => {
    const { receive, escalateUnreached } = setUp(failed('permanent', 'rejected', ''));
    expect(await receive()).toBe(1);
    expect(written).toContain('"internal_errors":1');
    expect(written).toContain('"dead_lettered":1');
    expect(JSON.stringify(vi.mocked(logger.error).mock.calls)).not.toContain('secret');
    expect(await receive()).toBe(0);
    expect(await receive()).toBe(0);
    expect(escalateUnreached).toHaveBeenCalledTimes(2);
  });

  it('is acknowledged if there is a next attempt, which reports it', async () => {
    const { receive } = setUp({ ...failed('transient', 'http_status', ''), retryAfterMs: 3_600_000 });
    expect(await receive()).toBe(0);
    expect(written).toContain('"internal_errors":1');
    expect(logger.error).toHaveBeenCalledWith('failure not reported', expect.anything());
  });
});

describe('the time to the first attempt', () => {
  const ACCEPTED_MS = NOW_MS - 5_000;
  const delivered: AttemptOutcome = { result: 'delivered', status: 200, explanation: 'OK' };
  const prevented = { ...failed('transient', 'circuit_open', ''), countsAsAttempt: false };
  const id = newNotificationId();

  /** Passes a message to a sender once for each outcome, ten minutes apart. @returns the values of the metric */
  const latencies = async (outcomes: AttemptOutcome[], changes: Partial<SQSRecord> = {}, start = '{') => {
    let nowMs = NOW_MS;
    let attempts = 0;
    const process = createBatchProcessing(
      senderDependencies(client, {
        type: 'webhook',
        transport: async () => outcomes[attempts++] ?? delivered,
        queues: {
          sendAll: async () => [],
          sendDelayed: async () => undefined,
          sendToDeadLetterQueue: async () => undefined,
          changeVisibility: async () => undefined,
        },
        clock: () => nowMs,
      }),
      { targets: () => ({ find: async () => ({ id, type: 'webhook', details: {} }) }) },
    );
    const body = deliveryMessage(id, alarmEvent({ event_id: randomUUID() }), ACCEPTED_MS).replace('{', start);
    for (const _ of outcomes) {
      await process({ Records: [sqsMessage({ body, ...changes })] }, () => 20_000);
      nowMs += 600_000;
    }
    return [...written.matchAll(/"first_attempt_latency":(\d+)/g)].map(([, value]) => Number(value));
  };

  it('is that from the acceptance of the event, also if the attempt fails, and counts once', async () => {
    const transient = failed('transient', 'http_status', '');
    expect(await latencies([transient, transient, delivered])).toEqual([5_000]);
  });

  it('is unknown if a circuit postponed the attempt', async () => {
    expect(await latencies([prevented, delivered])).toEqual([]);
  });

  it.each([
    ['an incident lock', { messageAttributes: { lock_wait_count: { stringValue: '1', dataType: 'Number' } } }],
    ['the move of a slow tenant', { eventSourceARN: 'arn:aws:sqs:local-1:000000000000:webhook-Retries' }],
  ] as const)('is unknown if %s postponed the attempt', async (_, changes) => {
    expect(await latencies([delivered], changes)).toEqual([]);
  });

  it('does not exist for a notice', async () => {
    const notice = { kind: 'failing', subject: 's', paragraphs: [], facts: [] };
    expect(await latencies([delivered], {}, `{"notice":${JSON.stringify(notice)},`)).toEqual([]);
    expect(await latencies([delivered])).toEqual([5_000]);
  });
});
