import type { NotificationTypeId } from '../../../shared/contracts/notification-types.ts';
import { alarmEvent, deliveryMessage } from '../../support/events.ts';
import { stubNotificationId } from './stub-notification.ts';

/** The body of a message, and the tenant of its message group. */
export type Message = { body: string; tenant: string };

type BatchOptions = {
  batchSize: number;
  /** The types of the notifications, in turns. */
  types?: readonly NotificationTypeId[];
  /** Alarm events for dispatch instead of deliveries. */
  isForDispatch?: boolean;
  /** Number of notifications of each event for dispatch. */
  planSize?: number;
};

/** Texts of ten zones, so that an event has about 2.5 KB. */
const observations = Array.from({ length: 10 }, (_, zone) => ({ zone: `mz${zone}`, text: 'x'.repeat(160) }));

let sequence = 0;

/** Creates an alarm event of one of ten tenants, for one of a hundred notifications or more. */
const ordinaryMessage = ({ types = ['webhook'], isForDispatch = false, planSize = 1 }: BatchOptions): Message => {
  const number = ++sequence;
  const tenant = `tenant-${number % 10}`;
  const timeMs = Date.now();
  const { details } = alarmEvent();
  const event = alarmEvent({
    event_id: `${tenant}:enWeb${number}:alDisk:chDisk:${timeMs}:CRITICAL`,
    tenant_id: tenant,
    details: { ...details, timestamp: timeMs, observations },
    entity: { id: `enWeb${number}`, label: 'web-1' },
  });
  const notification = (index: number) =>
    stubNotificationId(types[index % types.length] ?? 'webhook', (number % 100) + index);
  const plan = Array.from({ length: planSize }, (_, index) => notification(index));
  const body = isForDispatch
    ? JSON.stringify({ ...event, notification_plan: { id: 'npOps', critical_state: plan } })
    : deliveryMessage(notification(0), event, timeMs);
  return { body, tenant };
};

export const sqsEvent = (messages: readonly Message[]) => ({
  Records: messages.map(({ body, tenant }) => ({
    messageId: `message-${++sequence}`,
    receiptHandle: 'handle',
    body,
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: String(Date.now()),
      ApproximateFirstReceiveTimestamp: String(Date.now()),
      SenderId: 'producer',
      MessageGroupId: tenant,
    },
    messageAttributes: {},
    eventSourceARN: 'arn:aws:sqs:us-east-1:111111111111:FirstAttempts',
  })),
});

export const sqsBatch = (options: BatchOptions) =>
  sqsEvent(Array.from({ length: options.batchSize }, () => ordinaryMessage(options)));
