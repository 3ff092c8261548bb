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
