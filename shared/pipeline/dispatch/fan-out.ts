import { createThrottlingWatch } from '../../adapters/dynamodb/key-throttling.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { TargetReads } from '../../adapters/notifications/notification-targets.ts';
import type { OutgoingMessage, Queues } from '../../adapters/queues.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { Clock } from '../../domain/clock.ts';
import { deliveryBody } from '../../domain/delivery-message.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import type { PlannedEvent } from '../../domain/planned-event.ts';

/** How far the dispatch of one event has come. */
export type Progress<Event extends PlannedEvent = PlannedEvent> = {
  planned: Event;
  /** The notifications that have not been tried in this pass. */
  untried: readonly string[];
  /** Those that failed: they could not be read, or their queue did not take the delivery. */
  failed: string[];
  /** True where something failed for another reason than that DynamoDB throttles the tenant's own key. */
  hasInternalError: boolean;
  /** The notifications that exist, where they are few enough to be named in each other's messages. */
  known: readonly string[] | undefined;
  sent: number;
  unknown: number;
};

/** Ids that one slice of a plan has at most: one BatchGetItem. */
const SLICE_IDS = 100;
/** Bytes of messages that one slice makes at most; so its sending stays short of a second or two. */
const SLICE_BYTES = 4 * 1024 * 1024;
/** An event names its other notifications in each delivery where there are at most so many in all. */
const MAX_KNOWN = 26;

const sliceSize = ({ shared }: PlannedEvent): number =>
  Math.max(1, Math.min(SLICE_IDS, Math.floor(SLICE_BYTES / shared.bytes)));

const isSmall = ({ planned }: Progress): boolean => planned.ids.length <= sliceSize(planned);

/** A part of a plan: `ids` get their messages, `asked` are read. */
type Slice = { progress: Progress; ids: readonly string[]; asked: readonly string[] };

type Found = { id: string; target: DeliveryTarget | undefined };
type Read = Found | { id: string; error: unknown };

const readOne = async (targets: TargetReads, tenant: string, id: string): Promise<Read> => {
  try {
    return { id, target: await targets.find({ tenant, id }) };
  } catch (error) {
    return { id, error };
  }
};

/** Collects messages until the event loop turns, so that events which are read together share batches. */
const createOutbox = (queues: Pick<Queues, 'sendAll'>, urls: Record<NotificationTypeId, string>) => {
  const collected = new Map<
    NotificationTypeId,
    { messages: OutgoingMessage[]; refused: Promise<Set<OutgoingMessage>> }
  >();

  const open = (type: NotificationTypeId) => {
    const messages: OutgoingMessage[] = [];
    const refused = new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
      collected.delete(type);
      return new Set(await queues.sendAll(urls[type], messages));
    });
    const batch = { messages, refused };
    collected.set(type, batch);
    return batch;
  };

  /** @returns false where the queue did not take the message */
  return async (type: NotificationTypeId, message: OutgoingMessage): Promise<boolean> => {
    const { messages, refused } = collected.get(type) ?? open(type);
    messages.push(message);
    return !(await refused).has(message);
  };
};

/**
 * Puts a delivery for each notification of a plan on the queue of its type. Small plans go first, whole; large ones take turns,
 * slice by slice, until the time is over. Each event goes on as soon as its own notifications were read.
 *
 * @param endsAt when to stop, ms since the epoch; what is left is `untried`
 */
export const createFanOut = (
  notifications: Pick<NotificationRepository, 'targets'>,
  queues: Pick<Queues, 'sendAll'>,
  urls: Record<NotificationTypeId, string>,
  clock: Clock,
) => {
  const send = createOutbox(queues, urls);
  const isTenantThrottled = createThrottlingWatch(clock);

  const sendOne = async ({ planned, known }: Progress, target: DeliveryTarget): Promise<boolean> => {
    const siblings = known?.filter((id) => id !== target.id);
    const body = () => deliveryBody(target.id, planned.shared, siblings);
    const overhead = Buffer.byteLength(deliveryBody(target.id, { tail: '' }, siblings));
    return send(target.type, { body, bytes: overhead + planned.shared.bytes, messageGroupId: planned.event.tenant_id });
  };

  /** Failed reads count as known: nobody can tell yet that these notifications do not exist. */
  const knownOf = ({ planned, known }: Progress, reads: readonly Read[]): readonly string[] | undefined => {
    if (known || planned.isContinuation || planned.ids.length > reads.length) return known;
    const ids = reads.filter((read) => !('target' in read && read.target === undefined)).map(({ id }) => id);
    return ids.length <= MAX_KNOWN ? ids : undefined;
  };

  const logUnknown = ({ event }: PlannedEvent, unknown: number): void => {
    const { tenant_id, event_id } = event;
    if (unknown > 0) logger.warn('unknown notifications', { tenant_id, event_id, unknown });
  };

  /** @returns true where that is a failure of ours, and not the tenant's own key that DynamoDB throttles */
  const reportUnread = ({ event }: PlannedEvent, id: string, error: unknown): boolean => {
    const ids = { tenant_id: event.tenant_id, notification_id: id };
    const isOwn = isTenantThrottled(error, event.tenant_id);
    if (isOwn) logger.warn('partition key throttled', ids);
    else logger.error('notification not read', { ...ids, ...errorTrace(error) });
    return !isOwn;
  };

  const sendSlice = async ({ progress, ids, asked }: Slice, targets: TargetReads): Promise<void> => {
    const { planned } = progress;
    const all = await Promise.all(asked.map((id) => readOne(targets, planned.event.tenant_id, id)));
    progress.known = knownOf(progress, all);
    const reads = all.filter(({ id }) => ids.includes(id));
    const unknown = reads.filter((read) => 'target' in read && read.target === undefined).length;
    progress.unknown += unknown;
    logUnknown(planned, unknown);
    await Promise.all(
      reads.map(async (read) => {
        if ('error' in read) {
          progress.failed.push(read.id);
          if (reportUnread(planned, read.id, read.error)) progress.hasInternalError = true;
        } else if (read.target) {
          if (await sendOne(progress, read.target)) {
            progress.sent++;
          } else {
            progress.failed.push(read.id);
            progress.hasInternalError = true;
          }
        }
      }),
    );
  };

  const sendSlices = async (all: readonly Progress[]): Promise<void> => {
    const slices = all.map((progress): Slice => {
      const { planned, untried } = progress;
      const ids = untried.slice(0, sliceSize(planned));
      progress.untried = untried.slice(ids.length);
      // Which notifications of the event exist must be known before the first of them gets its message.
      const isFirst = untried.length === planned.ids.length && planned.ids.length <= SLICE_IDS;
      return { progress, ids, asked: isFirst ? planned.ids : ids };
    });
    const targets = notifications.targets(
      slices.flatMap(({ progress, asked }) => asked.map((id) => ({ tenant: progress.planned.event.tenant_id, id }))),
    );
    await Promise.all(slices.map((slice) => sendSlice(slice, targets)));
  };

  return async <Event extends PlannedEvent>(events: readonly Event[], endsAt: number): Promise<Progress<Event>[]> => {
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
    await sendSlices(all.filter(isSmall));
    const unfinished = () => all.filter(({ untried }) => untried.length > 0);
    while (clock() < endsAt && unfinished().length > 0) await sendSlices(unfinished());
    return all;
  };
};
