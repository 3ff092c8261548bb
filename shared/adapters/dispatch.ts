import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { type AlarmEvent, isAlarmEvent } from '../contracts/alarm-event.ts';
import { parseJson } from '../contracts/json.ts';
import { type NotificationTypeId, notificationTypeIds } from '../contracts/notification-types.ts';
import { deliveryBody } from '../contracts/sender.ts';
import { DISPATCH_LATENCY } from '../domain/delivery-metrics.ts';
import type { Reason } from '../domain/outcome.ts';
import { ownFailureWait } from '../domain/retry-schedule.ts';
import { plannedNotifications } from '../domain/routing.ts';
import { errorTrace, logger } from './logger.ts';
import { count } from './metrics.ts';
import type { NotificationRepository } from './notification-repository.ts';
import type { OutgoingMessage, Queues } from './queues.ts';

/** The environment of the dispatch, parsed. */
export type DispatchEnvironment = {
  ALARM_EVENTS_QUEUE: string;
  DEAD_LETTER_QUEUE: string;
  SENDER_QUEUES: Record<NotificationTypeId, string>;
};

/** An event and the ids of the notifications that hear of it. */
type PlannedEvent = { record: SQSRecord; event: AlarmEvent; ids: string[] };

/** A message that is no alarm event, and why. */
type Poison = { record: SQSRecord; reason: Reason };

/** A delivery on its way to the queue of its type, and the event's message, which is not acked before it is there. */
type OutgoingDelivery = OutgoingMessage & { type: NotificationTypeId; origin: SQSRecord };

/** The longest event, in bytes: what is added to it on its way must still fit into a message (design 3, Dispatch). */
const MAX_EVENT_BYTES = 900 * 1024;

/** Brackets that a text needs before it can nest too deep to be written again. */
const MANY_BRACKETS = 1_000;

/** JSON.parse reads any depth, JSON.stringify does not write it; only texts with that many brackets are tried. */
const canBeWritten = (value: unknown, body: string): boolean =>
  body.split(/[[{]/, MANY_BRACKETS).length < MANY_BRACKETS || JSON.stringify(value) !== undefined;

const parse = (body: string): AlarmEvent | undefined => {
  try {
    const value = parseJson(body);
    return isAlarmEvent(value) && canBeWritten(value, body) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Reads and plans one message, without throwing: its neighbours must go on whatever it holds. */
export const planEvent = (record: SQSRecord): PlannedEvent | Poison => {
  if (Buffer.byteLength(record.body) > MAX_EVENT_BYTES) return { record, reason: 'too large' };
  const event = parse(record.body);
  const ids = event && plannedNotifications(event);
  return ids ? { record, event, ids } : { record, reason: 'malformed' };
};

const isPoison = (planned: PlannedEvent | Poison): planned is Poison => 'reason' in planned;

/** Makes the Lambda handler that fans alarm events out to the queues of the notification types (design 3, Dispatch). */
export const createDispatch = (
  notifications: Pick<NotificationRepository, 'targets'>,
  queues: Queues,
  environment: DispatchEnvironment,
) => {
  /** Finds the notifications and writes a delivery for each; ids that are not the tenant's are counted. */
  const writeDeliveries = async (events: PlannedEvent[]) => {
    const targets = notifications.targets(
      events.flatMap(({ event, ids }) => ids.map((id) => ({ tenant: event.tenant_id, id }))),
    );
    let unknown = 0;
    const writeDelivery = async ({ record, event, ids }: PlannedEvent) => {
      const found = await Promise.all(ids.map((id) => targets.find({ tenant: event.tenant_id, id })));
      const known = found.filter((target) => target !== undefined);
      if (known.length < ids.length) {
        unknown += ids.length - known.length;
        const { tenant_id, event_id } = event;
        logger.warn('unknown notifications', { tenant_id, event_id, unknown: ids.length - known.length });
      }
      return known.map(
        ({ id, type }): OutgoingDelivery => ({
          body: () => deliveryBody(id, record.body),
          bytes: Buffer.byteLength(deliveryBody(id, '')) + Buffer.byteLength(record.body),
          group: event.tenant_id,
          type,
          origin: record,
        }),
      );
    };
    const deliveries = (await Promise.all(events.map(writeDelivery))).flat();
    return { deliveries, unknown };
  };

  /** @returns the messages of the events of which some delivery was not taken by its queue */
  const sendDeliveries = async (deliveries: OutgoingDelivery[]): Promise<SQSRecord[]> => {
    const refused = await Promise.all(
      notificationTypeIds.map((type) =>
        queues.sendAll(
          environment.SENDER_QUEUES[type],
          deliveries.filter((delivery) => delivery.type === type),
        ),
      ),
    );
    return refused.flat().map(({ origin }) => origin);
  };

  /** @returns the messages that could not be buried */
  const bury = async (poison: Poison[]): Promise<SQSRecord[]> => {
    const buried = await Promise.allSettled(
      poison.map(async ({ record, reason }) => {
        const { MessageGroupId: group } = record.attributes;
        const why = { reason, cause: 'service', attempts: 0 } as const;
        await queues.deadLetter(environment.DEAD_LETTER_QUEUE, { body: record.body, group }, why);
        logger.error('poison message', { message_id: record.messageId, reason });
      }),
    );
    return poison.flatMap(({ record }, index) => (buried[index]?.status === 'rejected' ? [record] : []));
  };

  const fanOut = async (
    events: PlannedEvent[],
  ): Promise<{ failed: SQSRecord[]; delivered: number; unknown: number }> => {
    try {
      const { deliveries, unknown } = await writeDeliveries(events);
      return { failed: await sendDeliveries(deliveries), delivered: deliveries.length, unknown };
    } catch (error) {
      logger.error('own failure', errorTrace(error));
      return { failed: events.map(({ record }) => record), delivered: 0, unknown: 0 };
    }
  };

  const putBack = (record: SQSRecord) =>
    queues
      .putBack(
        environment.ALARM_EVENTS_QUEUE,
        record,
        ownFailureWait(Number(record.attributes.ApproximateReceiveCount), 1),
      )
      .catch((error: unknown) => logger.error('message waits out its visibility', errorTrace(error)));

  return async ({ Records }: SQSEvent, context?: Context): Promise<SQSBatchResponse> => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const planned = Records.map(planEvent);
    const events = planned.filter((one): one is PlannedEvent => !isPoison(one));
    const poison = planned.filter(isPoison);
    const [unburied, { failed, delivered, unknown }] = await Promise.all([bury(poison), fanOut(events)]);
    const again = [...new Set([...unburied, ...failed])];
    await Promise.all(again.map(putBack));
    const counts = {
      events: events.length,
      poison: poison.length,
      deliveries: delivered,
      unknown_notifications: unknown,
      failed: again.length,
    };
    logger.info('batch done', counts);
    const now = Date.now();
    const done = events.filter(({ record }) => !failed.includes(record));
    const latency = done.map(({ record }) => Math.max(0, now - Number(record.attributes.SentTimestamp)));
    count(counts, {}, { [DISPATCH_LATENCY]: latency });
    return { batchItemFailures: again.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
};
