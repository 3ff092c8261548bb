import { beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { heartbeatEvent, unstoredTarget } from '../../shared/domain/heartbeat.ts';
import { createDeliver } from '../../shared/pipeline/sender/deliver.ts';
import { createJob } from '../../shared/pipeline/sender/delivery-job.ts';
import type { SenderDependencies } from '../../shared/pipeline/sender/sender-dependencies.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alertContent } from '../support/events.ts';
import { senderDependencies } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();
const NOW_MS = Date.UTC(2026, 0, 1);
const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };
let heartbeats = 0;

beforeEach(() => {
  vi.spyOn(logger, 'error').mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

/** Sets up the sender of a heartbeat that SQS accepted some time ago. Its queues reject every message. */
const setUp = (transport: SenderDependencies['transport'], ageMs = 0) => {
  const rejects = () => Promise.reject(new Error('Nothing may be sent.'));
  const queues = {
    sendAll: rejects,
    sendDelayed: rejects,
    sendToDeadLetterQueue: rejects,
    changeVisibility: rejects,
  };
  const clock = () => NOW_MS;
  const dependencies = senderDependencies(client, { type: 'webhook', transport, queues, clock });
  const event = heartbeatEvent(`beat-${heartbeats++}`, '2026-01-01T00:00:00Z');
  const target = unstoredTarget(event.tenant_id);
  const body = {
    notification_id: target?.id ?? '',
    ...alertContent(event),
    accepted_at_ms: NOW_MS - ageMs,
    content_hash: 'hash',
  };
  const deliver = async (found = Promise.resolve(target)) => {
    const job = createJob('webhook', { message: sqsMessage(), body, timeLeft: () => 20_000 });
    expect(await createDeliver(dependencies)(job, found)).toEqual({ kind: 'heartbeat' });
    const key = { tenant: event.tenant_id, notificationId: body.notification_id };
    const records = await dependencies.deliveries.listNewest(key, 100);
    return records.find(({ event_id }) => event_id === event.event_id);
  };
  return { deliver };
};

describe('a heartbeat', () => {
  it('is sent once and recorded, also if SQS delivers its message twice', async () => {
    const transport = vi.fn(async () => delivered);
    const { deliver } = setUp(transport);
    await deliver();
    expect(await deliver()).toMatchObject({ status: 'delivered', attempt_count: 1 });
    expect(transport).toHaveBeenCalledOnce();
    expect(logger.error).not.toHaveBeenCalled();
  });

  it('that fails is neither repeated nor dead-lettered, only logged and recorded', async () => {
    const { deliver } = setUp(async () => failed('transient', 'http_status', '', { status: 500 }));
    expect(await deliver()).toMatchObject({ status: 'failed', attempt_count: 1 });
    expect(logger.error).toHaveBeenCalledExactlyOnceWith(
      'heartbeat not delivered',
      expect.objectContaining({ reason: 'http_status', status: 500 }),
    );
  });

  it('is given up after an internal error', async () => {
    const transport = vi.fn(async () => delivered);
    const { deliver } = setUp(transport);
    await deliver(Promise.reject(new Error('no table')));
    expect(transport).not.toHaveBeenCalled();
    expect(logger.error).toHaveBeenCalledExactlyOnceWith('heartbeat not delivered', expect.anything());
  });

  it('is sent up to 5 minutes after SQS accepted it, and then no more', async () => {
    const transport = vi.fn(async () => delivered);
    await setUp(transport, 300_000).deliver();
    expect(transport).toHaveBeenCalledOnce();
    expect(await setUp(transport, 300_001).deliver()).toBeUndefined();
    expect(transport).toHaveBeenCalledOnce();
    expect(logger.error).toHaveBeenCalledExactlyOnceWith('heartbeat too late', expect.anything());
  });
});
