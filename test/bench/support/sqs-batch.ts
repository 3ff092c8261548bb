import { type NotificationTypeId, notificationTypeIds } from '../../../shared/contracts/notification-types.ts';
import { alarmEvent, deliveryMessage } from '../../support/events.ts';

/** The messages of a batch. */
type BatchOptions = {
  batchSize: number;
  /** The types of the notifications, in turns. */
  types?: readonly NotificationTypeId[];
  /** Alarm events for dispatch instead of deliveries. */
  isForDispatch?: boolean;
  /** Size of each zone's text, of ten zones. By default, an event has about 2.5 KB. */
  zoneBytes?: number;
  /** Number of notifications of each event for dispatch. */
  planSize?: number;
};

let sequence = 0;

/** Creates an alarm event of one of ten tenants, for one of a hundred notifications or more. */
const message = ({ types = ['webhook'], isForDispatch = false, zoneBytes = 160, planSize = 1 }: BatchOptions) => {
  const number = ++sequence;
  const tenant = `tenant-${number % 10}`;
  const timeMs = Date.now();
  const { details } = alarmEvent();
  const observations = Array.from({ length: 10 }, (_, zone) => ({
    zone: `mz${zone}`,
    text: 'x'.repeat(zoneBytes),
  }));
  const event = alarmEvent({
    event_id: `${tenant}:enWeb${number}:alDisk:chDisk:${timeMs}:CRITICAL`,
    tenant_id: tenant,
    details: { ...details, timestamp: timeMs, observations },
    entity: { id: `enWeb${number}`, label: 'web-1' },
  });
  // The AWS stub reads the type from the last character.
  const notification = (index: number) => {
    const type = types[index % types.length] ?? 'webhook';
    const id = String((number % 100) + index).padStart(5, '0');
    return `nt01M7W36KGQDJ8S2D76FC${id}${notificationTypeIds.indexOf(type)}`;
  };
  const plan = Array.from({ length: planSize }, (_, index) => notification(index));
  const body = isForDispatch
    ? JSON.stringify({ ...event, notification_plan: { id: 'npOps', critical_state: plan } })
    : deliveryMessage(notification(0), event, timeMs);
  return {
    messageId: `message-${number}`,
    receiptHandle: 'handle',
    body,
    attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()), MessageGroupId: tenant },
    messageAttributes: {},
    eventSourceARN: 'arn:aws:sqs:us-east-1:111111111111:FirstAttempts',
  };
};

/** An SQS event as far as the functions read it. */
type Batch = { Records: ReturnType<typeof message>[] };

/** Creates a batch of new alarm events or deliveries. */
export const sqsBatch = (options: BatchOptions): Batch => ({
  Records: Array.from({ length: options.batchSize }, () => message(options)),
});
