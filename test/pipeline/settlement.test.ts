import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createBounceRecorder } from '../../shared/adapters/deliveries/bounce-recorder.ts';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createFailedMessages, type FailedMessage } from '../../shared/adapters/deliveries/failed-messages.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { logger } from '../../shared/adapters/logger.ts';
import type { Queues } from '../../shared/adapters/queues.ts';
import type { Delivery } from '../../shared/contracts/messages.ts';
import type { NoticeContent } from '../../shared/contracts/notice.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { attemptDelivery } from '../../shared/pipeline/sender/delivery-attempt.ts';
import { createJob, type SettledMessage } from '../../shared/pipeline/sender/delivery-job.ts';
import { settleAttempt } from '../../shared/pipeline/sender/settlement.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent } from '../support/events.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();
const deliveries = createDeliveryRepository(client, 'deliveries');
const failedMessages = createFailedMessages(client, 'deliveries');

const NOW_MS = Date.UTC(2026, 0, 1);
const notice: NoticeContent = { kind: 'failing', subject: 's', paragraphs: [], facts: [] };
const rejected = failed('permanent', 'rejected', '');

beforeEach(() => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

/** Sets up the sender of a type for one delivery. The queues record dead letters, or reject if `queuesFail`. */
const setUp = (
  type: NotificationTypeId,
  outcome: AttemptOutcome,
  { changes = {}, queuesFail = false }: { changes?: Partial<Delivery>; queuesFail?: boolean } = {},
) => {
  const deadLetters: string[] = [];
  const send = async (): Promise<void> => {
    if (queuesFail) throw new Error('no response');
  };
  const queues: Queues = {
    sendAll: async () => [],
    sendAllDelayed: async () => [],
    sendDelayed: send,
    changeVisibility: send,
    sendToDeadLetterQueue: async (_url, { body }) => {
      await send();
      deadLetters.push(body);
    },
  };
  const id = newNotificationId();
  const event = alarmEvent();
  const job = createJob({
    dependencies: {
      type,
      transport: async () => outcome,
      deliveries,
      incidentLocks: createIncidentLocks(client, 'deliveries'),
      failedMessages,
      queues,
      queueUrls: senderQueueUrls,
      retryQueueUrl: queueUrl('Retries'),
      deadLetterQueueUrl: queueUrl('DeadLetters'),
      retryDelayScale: 1,
      reports: { reportFailure: async () => undefined, escalateUnreached: async () => undefined },
      clock: () => NOW_MS,
      isTenantThrottled: () => false,
    },
    message: sqsMessage(),
    body: { notification_id: id, event, accepted_at_ms: NOW_MS, content_hash: 'hash', ...changes },
    batch: { unsettled: 1 },
    timeLeft: () => 20_000,
  });
  const attempt = async () => {
    const result = await attemptDelivery(job, { id, type, details: {} });
    if ('outcome' in result) throw new Error('There was no attempt.');
    return result;
  };
  const deliver = async (): Promise<SettledMessage> => settleAttempt(job, await attempt());
  const record = async () => {
    const [found] = await deliveries.listNewest({ tenant: event.tenant_id, notificationId: id }, 1);
    return found;
  };
  const stored = async (): Promise<FailedMessage[]> => {
    const range = { sinceMs: 0, after: null, untilMs: NOW_MS + 1 };
    const groups = await Array.fromAsync(failedMessages.list({ tenant: event.tenant_id, notificationId: id }, range));
    return groups.flat();
  };
  return { job, attempt, deliver, record, stored, deadLetters };
};

describe('a delivery that fails permanently', () => {
  it('is in the dead-letter queue and among the stored messages of the tenant, with the body of the next round', async () => {
    const { deliver, record, stored, deadLetters } = setUp('webhook', rejected);
    expect(await deliver()).toMatchObject({ outcome: 'dead_lettered' });
    expect(await record()).toMatchObject({ status: 'failed', updated_at_ms: NOW_MS });
    const [message] = await stored();
    expect(message?.body()).toBe(deadLetters[0]);
    expect(JSON.parse(deadLetters[0] ?? '')).toMatchObject({ round: 2 });
  });

  it('keeps its attempt and the recipients it reached if the dead letter cannot be sent', async () => {
    const { deliver, record, stored } = setUp(
      'technicalContactsEmail',
      { ...rejected, reachedRecipientHashes: ['reached'] },
      { queuesFail: true },
    );
    await expect(deliver()).rejects.toThrow('no response');
    expect(await record()).toMatchObject({
      status: 'pending',
      attempt_count: 1,
      reached_recipient_hashes: ['reached'],
    });
    expect(await stored()).toHaveLength(1);
  });
});

describe('a notice', () => {
  it('to an account without contacts is cancelled', async () => {
    const noContacts = failed('permanent', 'no_contacts', '');
    const { deliver, record, deadLetters } = setUp('technicalContactsEmail', noContacts, { changes: { notice } });
    expect(await deliver()).toMatchObject({ outcome: 'cancelled' });
    expect(await record()).toMatchObject({ status: 'cancelled' });
    expect(deadLetters).toEqual([]);
  });

  it('that fails is dead-lettered, but tenants cannot redeliver it', async () => {
    const { deliver, stored, deadLetters } = setUp('technicalContactsEmail', rejected, { changes: { notice } });
    expect(await deliver()).toMatchObject({ outcome: 'dead_lettered' });
    expect(deadLetters).toHaveLength(1);
    expect(await stored()).toEqual([]);
  });
});

describe('a delivered email', () => {
  it('stays bounced if the write of its delivery is repeated after the bounce', async () => {
    const { job, attempt, record } = setUp('email', { result: 'delivered', explanation: '' });
    const attempted = await attempt();
    expect(await settleAttempt(job, attempted)).toMatchObject({ outcome: 'delivered' });
    const recordBounce = createBounceRecorder(client, 'deliveries', () => NOW_MS);
    expect(await recordBounce(attempted.record, 'a@example.com', 'bounced')).toMatchObject({ kind: 'recorded' });
    await settleAttempt(job, attempted);
    expect(await record()).toMatchObject({ status: 'bounced' });
  });
});
