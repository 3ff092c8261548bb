import type { WriteDestinationList } from '../../adapters/deliveries/destination-list.ts';
import type { IsTenantThrottled } from '../../adapters/dynamodb/errors.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { TargetReads } from '../../adapters/notifications/notification-targets.ts';
import type { OutgoingMessage, Queues } from '../../adapters/queues.ts';
import { withRetries, withTimeout } from '../../adapters/waiting.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { truncateKey } from '../../contracts/text.ts';
import { createGatherer } from '../../domain/gather.ts';
import { unstoredTarget } from '../../domain/heartbeat.ts';
import { deliveryBody, deliveryBytes } from '../../domain/new-delivery-message.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { isNotificationId } from '../../domain/notification-id.ts';
import { idsOfEvent, type PlannedEvent } from '../../domain/planned-event.ts';
import type { Clock } from '../../domain/time.ts';

export type FannedOut<Event extends PlannedEvent = PlannedEvent> = {
  planned: Event;
  sent: number;
  unknown: number;
  /** True if notifications could not be read, or deliveries not be queued. */
  isIncomplete: boolean;
  /** True if anything failed for a reason other than a throttled partition key of the tenant. */
  hasInternalError: boolean;
};

/** Each delivery lists the others if the event has at most this many in total. Otherwise they are stored once. */
const MAX_LISTED = 26;
/** The maximum time that storing the list of an event's notifications may delay its deliveries. */
const MAX_LIST_MS = 2_000;
const MAX_LOGGED = 10;
/** How long to wait before a delivery that SQS refused is sent again, in ms. */
const RESEND_DELAYS_MS = [200, 1_000] as const;

type ReadResult = { id: string; target: DeliveryTarget | undefined } | { id: string; error: unknown };

const readTarget = async (targets: TargetReads, tenant: string, id: string): Promise<ReadResult> => {
  try {
    return { id, target: (await targets.find({ tenant, id })) ?? unstoredTarget(tenant) };
  } catch (error) {
    return { id, error };
  }
};

const isUnknown = (result: ReadResult): boolean => 'target' in result && result.target === undefined;

/** With those that do not exist: an earlier copy of the event may have reached one that was deleted since. */
const listedIds = (results: readonly ReadResult[]): readonly string[] | undefined => {
  const ids = results.filter((result) => !isUnknown(result) || isNotificationId(result.id)).map(({ id }) => id);
  return ids.length <= MAX_LISTED ? ids : undefined;
};

/** Sends messages of the next turn of the event loop together: events that are read together share batches. */
const createOutbox = (queues: Pick<Queues, 'sendAll'>, urls: Record<NotificationTypeId, string>) => {
  const gather = createGatherer(
    async (messages: readonly OutgoingMessage[], type: NotificationTypeId) =>
      new Set(await queues.sendAll(urls[type], messages)),
    setImmediate,
  );
  return async (type: NotificationTypeId, message: OutgoingMessage): Promise<boolean> =>
    !(await gather(type, message).result).has(message);
};

/**
 * Queues a delivery for each notification. Events share reads and batches, and none waits for another. Never rejects.
 */
export const createFanOut = (
  notifications: Pick<NotificationRepository, 'targets'>,
  queues: Pick<Queues, 'sendAll'>,
  writeDestinationList: WriteDestinationList,
  urls: Record<NotificationTypeId, string>,
  isTenantThrottled: IsTenantThrottled,
  clock: Clock,
  sleep?: (delayMs: number) => Promise<unknown>,
) => {
  const sendInBatch = createOutbox(queues, urls);

  /** @returns false if SQS refused the delivery each time */
  const sendDelivery = async (
    { shared }: PlannedEvent,
    target: DeliveryTarget,
    listed: readonly string[] | undefined,
    endsAtMs: number,
  ): Promise<boolean> => {
    const siblings = listed?.filter((each) => each !== target.id);
    const message = {
      body: () => deliveryBody(target, shared, siblings),
      bytes: deliveryBytes(target, shared, siblings),
      messageGroupId: shared.header.tenant_id,
    };
    const send = () => sendInBatch(target.type, message);
    return withRetries(
      send,
      (sent, attempts) => {
        const delayMs = RESEND_DELAYS_MS[attempts - 1] ?? Number.POSITIVE_INFINITY;
        const isRefused = sent.status === 'fulfilled' && !sent.value;
        return isRefused && clock() + delayMs <= endsAtMs ? delayMs : undefined;
      },
      sleep,
    );
  };

  /** @returns true for an internal error, false if DynamoDB throttles the tenant's partition key */
  const logFailure = (message: string, planned: PlannedEvent, error: unknown, notification_id?: string): boolean => {
    const ids = { ...idsOfEvent(planned), notification_id };
    const isThrottled = isTenantThrottled(error, planned.shared.header.tenant_id);
    if (isThrottled) logger.warn('partition key throttled', ids);
    else logger.error(message, { ...ids, ...errorTrace(error) });
    return !isThrottled;
  };

  /** Before the first delivery: one that fails needs the list. Without it, senders cannot record deliveries either. */
  const storeDestinations = (planned: PlannedEvent): Promise<void> =>
    withTimeout(writeDestinationList(planned.shared.header, planned.ids, clock()), MAX_LIST_MS);

  const sendDeliveries = async (
    planned: PlannedEvent,
    targets: readonly DeliveryTarget[],
    listed: readonly string[] | undefined,
    endsAtMs: number,
  ): Promise<Pick<FannedOut, 'sent' | 'hasInternalError'>> => {
    try {
      if (targets.length > 0 && !listed) await storeDestinations(planned);
    } catch (error) {
      return { sent: 0, hasInternalError: logFailure('destinations not stored', planned, error) };
    }
    const areSent = await Promise.all(targets.map((target) => sendDelivery(planned, target, listed, endsAtMs)));
    const sent = areSent.filter(Boolean).length;
    return { sent, hasInternalError: sent < targets.length };
  };

  /** The message ID leads from an event ID to the escalation, which is all that is stored if none exists. */
  const logUnknown = (planned: PlannedEvent, unknownIds: readonly string[]): void => {
    if (unknownIds.length === 0) return;
    const message_id = planned.correlation.producer_message_id;
    // A plan can list any text as an ID.
    const notification_ids = unknownIds.slice(0, MAX_LOGGED).map(truncateKey);
    logger.warn('unknown notifications', {
      message_id,
      ...idsOfEvent(planned),
      unknown: unknownIds.length,
      notification_ids,
    });
  };

  const fanOutEvent = async <Event extends PlannedEvent>(
    planned: Event,
    targets: TargetReads,
    endsAtMs: number,
  ): Promise<FannedOut<Event>> => {
    const { tenant_id: tenant } = planned.shared.header;
    const results = await Promise.all(planned.ids.map((id) => readTarget(targets, tenant, id)));
    const unread = results.flatMap((result) => ('error' in result ? [result] : []));
    const existing = results.flatMap((result) => ('target' in result && result.target ? [result.target] : []));
    const unknownIds = results.filter(isUnknown).map(({ id }) => id);
    logUnknown(planned, unknownIds);
    const internalErrors = unread.filter(({ id, error }) => logFailure('notification not read', planned, error, id));
    const listed = listedIds(results);
    const { sent, hasInternalError } = await sendDeliveries(planned, existing, listed, endsAtMs);
    return {
      planned,
      sent,
      unknown: unknownIds.length,
      isIncomplete: unread.length > 0 || sent < existing.length,
      hasInternalError: internalErrors.length > 0 || hasInternalError,
    };
  };

  /** @param endsAtMs until when deliveries that SQS refuses are sent again, ms since the epoch */
  return async <Event extends PlannedEvent>(
    events: readonly Event[],
    endsAtMs: number,
  ): Promise<FannedOut<Event>[]> => {
    // Dispatch needs only whether a notification exists, and its type. The sender reads the current version: it forwards
    // the delivery if the type has changed, and cancels it if the notification has been deleted.
    const targets = notifications.targets(
      events.flatMap(({ ids, shared }) => ids.map((id) => ({ tenant: shared.header.tenant_id, id }))),
      { isConsistent: false },
    );
    return Promise.all(events.map((planned) => fanOutEvent(planned, targets, endsAtMs)));
  };
};
