import { parseJson } from '../../../shared/contracts/json.ts';
import type { NotificationTypeId } from '../../../shared/contracts/notification-types.ts';
import { noticeBody } from '../../../shared/domain/new-delivery-message.ts';
import { accountWindow, summaryNotice } from '../../../shared/domain/summary.ts';
import { costlyEvent, LARGEST_EVENT_BYTES } from '../../support/costly-event.ts';
import { alarmEvent, deliveryMessage } from '../../support/events.ts';
import { NEIGHBOR } from './neighbor.ts';
import { type Message, sqsEvent } from './sqs-batch.ts';
import { FAILING_TENANT, stubNotificationId } from './stub-notification.ts';

/*
 * The batches of one tenant that need most memory and CPU time. The last message of each is an ordinary alert of a
 * neighbor.
 */

/** Lambda limits the messages of a batch to 6 MB in total. Their attributes count, and JSON escapes them once more. */
const BATCH_BYTES = 5.5 * 1_024 * 1_024;
/** First attempts have batches of 10, retries of 100. */
const EVENTS = 10;
const RETRIES = 100;
/** What all deliveries of one event may have together. */
const EVENT_BUDGET_BYTES = 64 * 1_024 * 1_024;

const TENANT = 'attacker';

let sequence = 0;

const eventOf = (tenant: string, changes: object = {}) =>
  alarmEvent({ event_id: `${tenant}:en:al:ch:${Date.now()}:${++sequence}`, tenant_id: tenant, ...changes });

const neighborEvent = () => eventOf(NEIGHBOR, { entity: { id: 'enNeighbor', label: NEIGHBOR } });

const repeat = (count: number, create: (index: number) => Message): Message[] =>
  Array.from({ length: count }, (_, index) => create(index));

/** Deliveries to one type, each with an event of this size that is costly to parse. */
const costlyDeliveries = (type: NotificationTypeId, bytes: number): Message[] =>
  repeat(Math.floor(BATCH_BYTES / bytes), (index) => ({
    tenant: TENANT,
    body: deliveryMessage(stubNotificationId(type, index), parseJson(costlyEvent(eventOf(TENANT), bytes))),
  }));

/** Ten events of this size that are costly to parse, each for as many webhooks as an event may have. */
const costlyEvents = (bytes: number): Message[] => {
  const ids = Array.from({ length: Math.floor(EVENT_BUDGET_BYTES / (bytes + 2_048)) }, (_, index) =>
    stubNotificationId('webhook', index),
  );
  return repeat(EVENTS, () => ({
    tenant: TENANT,
    body: costlyEvent(eventOf(TENANT, { notification_plan: { id: 'np', critical_state: ids } }), bytes),
  }));
};

const failingWebhooks = (): Message[] =>
  repeat(RETRIES, (index) => ({
    tenant: FAILING_TENANT,
    body: deliveryMessage(stubNotificationId('webhook', index), eventOf(FAILING_TENANT)),
  }));

const summaries = (): Message[] =>
  repeat(RETRIES, (index) => {
    const notification = { tenant: TENANT, id: stubNotificationId('email', index) };
    const notice = summaryNotice(notification, accountWindow(Date.now(), 5));
    return { tenant: TENANT, body: noticeBody({ id: notification.id }, notice, {}, Date.now()) };
  });

export type WorstBatch = { name: string; create: () => object };

const deliveries = (type: NotificationTypeId, name: string, create: () => Message[]): WorstBatch => ({
  name: `${name}`,
  create: () =>
    sqsEvent([...create(), { tenant: NEIGHBOR, body: deliveryMessage(stubNotificationId(type), neighborEvent()) }]),
});

const events = (name: string, create: () => Message[]): WorstBatch => ({
  name,
  create() {
    const plan = { id: 'np', critical_state: [stubNotificationId('webhook')] };
    const body = JSON.stringify({ ...neighborEvent(), notification_plan: plan });
    return sqsEvent([...create().slice(1), { tenant: NEIGHBOR, body }]);
  },
});

export const worstDeliveries = (type: NotificationTypeId): WorstBatch[] => [
  deliveries(type, '5.5 MB of `[1.0,{},…]`, 256 KiB each', () => costlyDeliveries(type, LARGEST_EVENT_BYTES)),
  deliveries(type, '5.5 MB of `[1.0,{},…]`, 56 KiB each', () => costlyDeliveries(type, 56 * 1_024)),
  ...(type === 'webhook' ? [deliveries(type, '100 failures with 16 KB of secrets each', failingWebhooks)] : []),
  ...(type === 'email' ? [deliveries(type, '100 summaries of 20,000 alarms', summaries)] : []),
];

export const worstEvents: readonly WorstBatch[] = [
  events('events of 256 KiB of `[1.0,{},…]`, 64 MiB of deliveries each', () => costlyEvents(LARGEST_EVENT_BYTES)),
  events('events of 63 KiB of `[1.0,{},…]`, 64 MiB of deliveries each', () => costlyEvents(63 * 1_024)),
];
