import type { WriteDestinationList } from '../../adapters/deliveries/destination-list.ts';
import { createThrottlingWatch } from '../../adapters/dynamodb/key-throttling.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { count } from '../../adapters/metrics.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { TargetReads } from '../../adapters/notifications/notification-targets.ts';
import type { OutgoingMessage, Queues } from '../../adapters/queues.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { Clock } from '../../domain/clock.ts';
import { deliveryBody, deliveryBytes } from '../../domain/delivery-message.ts';
import { createGatherer } from '../../domain/gather.ts';
import { unstoredTarget } from '../../domain/heartbeat.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { idsOfEvent, type PlannedEvent } from '../../domain/planned-event.ts';
import { withTimeout } from '../notices/settle-notices.ts';

/** The progress of one event in this pass. */
export type Progress<Event extends PlannedEvent = PlannedEvent> = {
  planned: Event;
  /** IDs of the notifications that this pass has not tried yet. */
  untried: readonly string[];
  /** IDs of the notifications that could not be read or whose delivery could not be queued. */
  failed: string[];
  /** True if anything failed for a reason other than a throttled partition key of the tenant. */
  hasInternalError: boolean;
  /** IDs of the existing notifications; undefined if there are too many to list in each delivery. */
  known: readonly string[] | undefined;
  /** Number of deliveries sent. */
  sent: number;
  /** Number of notifications that do not exist. */
  unknown: number;
};

/** Returns whether this or an earlier pass sent a delivery of the event. */
export const isPartlySent = ({ planned, sent }: Progress): boolean => planned.isPartlySent || sent > 0;

/**
 * Returns whether none of the planned notifications exists, so that the event reaches nobody. In a continuation, this
 * includes the notifications of earlier passes: they do not exist, or a delivery was sent.
 */
export const isPlanUnknown = (progress: Progress): boolean =>
  progress.unknown > 0 && progress.unknown === progress.planned.ids.length && !isPartlySent(progress);

/** The maximum number of IDs in one slice of a plan: one BatchGetItem request. */
const MAX_SLICE_IDS = 100;
/** The maximum total size of the messages in one slice, so that sending it takes at most a second or two. */
const MAX_SLICE_BYTES = 4 * 1024 * 1024;
/**
 * Each delivery lists the event's other notifications if the event has at most this many in total. Otherwise they are
 * stored once.
 */
const MAX_KNOWN = 26;
/** The maximum time that storing the list of an event's notifications may delay its deliveries. */
const MAX_LIST_MS = 2_000;

const sliceSize = ({ shared }: PlannedEvent): number =>
  Math.max(1, Math.min(MAX_SLICE_IDS, Math.floor(MAX_SLICE_BYTES / shared.bytes)));

const fitsInOneSlice = ({ planned }: Progress): boolean => planned.ids.length <= sliceSize(planned);

/** A part of a plan. Deliveries are sent for `ids`; `idsToRead` can include other notifications of the event. */
type Slice = { progress: Progress; ids: readonly string[]; idsToRead: readonly string[] };

type ReadResult = { id: string; target: DeliveryTarget | undefined } | { id: string; error: unknown };

const readTarget = async (targets: TargetReads, tenant: string, id: string): Promise<ReadResult> => {
  try {
    return { id, target: (await targets.find({ tenant, id })) ?? unstoredTarget(tenant) };
  } catch (error) {
    return { id, error };
  }
};

const isUnknown = (result: ReadResult): boolean => 'target' in result && result.target === undefined;

/** Sends messages of the next turn of the event loop together, so that events that are read together share batches. */
const createOutbox = (queues: Pick<Queues, 'sendAll'>, urls: Record<NotificationTypeId, string>) => {
  const gather = createGatherer(
    async (messages: readonly OutgoingMessage[], type: NotificationTypeId) =>
      new Set(await queues.sendAll(urls[type], messages)),
    setImmediate,
  );
  /** @returns false if the message was not sent */
  return async (type: NotificationTypeId, message: OutgoingMessage): Promise<boolean> =>
    !(await gather(type, message).result).has(message);
};

/**
 * Creates the function that queues a delivery for each notification of a plan. Plans that fit in one slice go first;
 * larger plans proceed slice by slice, in parallel, until `endsAtMs`. An event's deliveries are sent as soon as its own
 * notifications are read. IDs that were not reached stay in `untried` (docs/decisions/events.md#dispatch-in-passes).
 */
export const createFanOut = (
  notifications: Pick<NotificationRepository, 'targets'>,
  queues: Pick<Queues, 'sendAll'>,
  writeDestinationList: WriteDestinationList,
  urls: Record<NotificationTypeId, string>,
  clock: Clock,
) => {
  const sendInBatch = createOutbox(queues, urls);
  const isTenantThrottled = createThrottlingWatch(clock);

  const sendDelivery = async ({ planned, known }: Progress, target: DeliveryTarget): Promise<boolean> => {
    const siblings = known?.filter((id) => id !== target.id);
    return sendInBatch(target.type, {
      body: () => deliveryBody(target.id, planned.shared, siblings),
      bytes: deliveryBytes(target.id, planned.shared, siblings),
      messageGroupId: planned.event.tenant_id,
    });
  };

  /** Notifications whose read failed count as known until a later pass finds that they do not exist. */
  const knownIds = ({ planned, known }: Progress, results: readonly ReadResult[]): readonly string[] | undefined => {
    const unknown = new Set(results.filter(isUnknown).map(({ id }) => id));
    if (known) return known.filter((id) => !unknown.has(id));
    if (planned.isPartlySent || planned.ids.length > results.length) return undefined;
    const ids = results.filter((result) => !isUnknown(result)).map(({ id }) => id);
    return ids.length <= MAX_KNOWN ? ids : undefined;
  };

  /**
   * Stores the list of the event's notifications, before its first delivery is sent, because a delivery that fails
   * needs it. The list has all IDs of the plan: those that do not exist count as not reached. If it cannot be stored,
   * the alert is delivered nevertheless.
   */
  const storeDestinations = async (planned: PlannedEvent): Promise<void> => {
    try {
      await withTimeout(writeDestinationList(planned.event, planned.ids, clock()), MAX_LIST_MS);
    } catch (error) {
      logger.error('destinations not stored', { ...idsOfEvent(planned), ...errorTrace(error) });
      count({ destinations_not_stored: 1 });
    }
  };

  /** The message ID leads from an event ID to the escalation, which is all that is stored if none exists. */
  const logUnknown = (planned: PlannedEvent, unknown: number): void => {
    if (unknown === 0) return;
    const message_id = planned.origin.producer_message_id;
    logger.warn('unknown notifications', { message_id, ...idsOfEvent(planned), unknown });
  };

  /** @returns true for an internal error, false if DynamoDB throttles the tenant's partition key */
  const logReadError = (planned: PlannedEvent, id: string, error: unknown): boolean => {
    const ids = { ...idsOfEvent(planned), notification_id: id };
    const isThrottled = isTenantThrottled(error, planned.event.tenant_id);
    if (isThrottled) logger.warn('partition key throttled', ids);
    else logger.error('notification not read', { ...ids, ...errorTrace(error) });
    return !isThrottled;
  };

  const sendSlice = async ({ progress, ids, idsToRead }: Slice, targets: TargetReads): Promise<void> => {
    const { planned } = progress;
    const allResults = await Promise.all(idsToRead.map((id) => readTarget(targets, planned.event.tenant_id, id)));
    progress.known = knownIds(progress, allResults);
    const results = allResults.filter(({ id }) => ids.includes(id));
    const unknown = results.filter(isUnknown).length;
    progress.unknown += unknown;
    logUnknown(planned, unknown);
    const isFirstDelivery = !isPartlySent(progress) && results.some((result) => 'target' in result && result.target);
    if (isFirstDelivery && !progress.known) await storeDestinations(planned);
    await Promise.all(
      results.map(async (result) => {
        if ('error' in result) {
          progress.failed.push(result.id);
          if (logReadError(planned, result.id, result.error)) progress.hasInternalError = true;
        } else if (result.target) {
          if (await sendDelivery(progress, result.target)) {
            progress.sent++;
          } else {
            progress.failed.push(result.id);
            progress.hasInternalError = true;
          }
        }
      }),
    );
  };

  const sendNextSlices = async (events: readonly Progress[]): Promise<void> => {
    const slices = events.map((progress): Slice => {
      const { planned, untried } = progress;
      const ids = untried.slice(0, sliceSize(planned));
      progress.untried = untried.slice(ids.length);
      // The first delivery already lists the other notifications, so all of them must be read before it is sent.
      const isFirst = untried.length === planned.ids.length && planned.ids.length <= MAX_SLICE_IDS;
      return { progress, ids, idsToRead: isFirst ? planned.ids : ids };
    });
    // Dispatch needs only whether a notification exists, and its type. The sender reads the current version: it forwards
    // the delivery if the type has changed, and cancels it if the notification has been deleted.
    const targets = notifications.targets(
      slices.flatMap(({ progress, idsToRead }) =>
        idsToRead.map((id) => ({ tenant: progress.planned.event.tenant_id, id })),
      ),
      { isConsistent: false },
    );
    await Promise.all(slices.map((slice) => sendSlice(slice, targets)));
  };

  return async <Event extends PlannedEvent>(events: readonly Event[], endsAtMs: number): Promise<Progress<Event>[]> => {
    const all = events.map(
      (planned): Progress<Event> => ({
        planned,
        untried: planned.ids,
        failed: [],
        hasInternalError: false,
        known: planned.known,
        sent: 0,
        unknown: 0,
      }),
    );
    await sendNextSlices(all.filter(fitsInOneSlice));
    const unfinished = () => all.filter(({ untried }) => untried.length > 0);
    while (clock() < endsAtMs && unfinished().length > 0) await sendNextSlices(unfinished());
    return all;
  };
};
