import { beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import type { OutgoingMessage, Queues } from '../../shared/adapters/queues.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createJob, type DeliveryJob } from '../../shared/pipeline/sender/delivery-job.ts';
import { createFirstAttemptMove } from '../../shared/pipeline/sender/move-first-attempts.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent, deliveryMessage, readDelivery } from '../support/events.ts';
import { queueUrl } from '../support/queue-urls.ts';
import { senderDependencies } from '../support/sender-dependencies.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();
const NOW_MS = Date.UTC(2026, 0, 1);
const SLOW = 'slow';

beforeEach(() => {
  for (const level of ['warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

/** Sets up the sender of a type for one notification, while one tenant is slow. */
const setUp = (type: NotificationTypeId, { isQueueFailing = false } = {}) => {
  const sent: { url: string; body: string; messageGroupId: string }[] = [];
  const unexpected = () => Promise.reject(new Error('not expected'));
  const queues: Queues = {
    sendAll: async <Message extends OutgoingMessage>(url: string, messages: readonly Message[]) => {
      if (isQueueFailing) return [...messages];
      for (const { body, messageGroupId } of messages) sent.push({ url, body: body(), messageGroupId });
      return [];
    },
    sendToDeadLetterQueue: unexpected,
    sendDelayed: unexpected,
    changeVisibility: unexpected,
  };
  const isSlowTenant = (tenant: string) => tenant === SLOW;
  const given = { type, transport: unexpected, queues, clock: () => NOW_MS, isSlowTenant };
  const dependencies = senderDependencies(client, given);
  const id = newNotificationId();
  let events = 0;
  const jobOf = (tenant: string, { queue = type }: { queue?: string } = {}): DeliveryJob => {
    const number = events++;
    const event = alarmEvent({
      tenant_id: tenant,
      event_id: `${tenant}-${number}`,
      details: { state: 'CRITICAL', timestamp: NOW_MS + number },
    });
    const body = deliveryMessage(id, event, NOW_MS + number);
    return createJob(type, {
      message: sqsMessage({
        messageId: event.event_id,
        body,
        eventSourceARN: `arn:aws:sqs:local-1:1:${queue}`,
      }),
      body: readDelivery(body),
      timeLeft: () => 20_000,
    });
  };
  return {
    jobOf,
    sent,
    move: createFirstAttemptMove(dependencies),
    records: (tenant: string) => dependencies.deliveries.listNewest({ tenant, notificationId: id }, 10),
  };
};

describe('a first attempt', () => {
  it('of a slow tenant is moved to the retry queue, without a record, and that of another tenant is not', async () => {
    const { jobOf, move, sent, records } = setUp('webhook');
    const [slow, other, slowToo] = [jobOf(SLOW), jobOf('other'), jobOf(SLOW)];
    const { moved, unsent, others } = move([slow, other, slowToo]);
    expect([moved, [...(await unsent)], others]).toEqual([[slow, slowToo], [], [other]]);
    expect(sent).toEqual(
      [slow, slowToo].map(({ message }) => ({
        url: queueUrl('webhook-Retries'),
        body: message.body,
        messageGroupId: SLOW,
      })),
    );
    expect(await records(SLOW)).toEqual([]);
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('first attempts moved', {
      type: 'webhook',
      tenant_id: SLOW,
      messages: 2,
    });
  });

  it('that was moved, and a retry, are attempted although the tenant is slow', async () => {
    const { jobOf, move, sent } = setUp('webhook');
    const job = jobOf(SLOW, { queue: 'webhook-Retries' });
    const { moved, unsent, others } = move([job]);
    await unsent;
    expect([moved, others, sent]).toEqual([[], [job], []]);
  });

  it('that cannot be moved is known', async () => {
    const { jobOf, move } = setUp('webhook', { isQueueFailing: true });
    const job = jobOf(SLOW);
    expect([...(await move([job]).unsent)]).toEqual([job]);
  });
});
