import { UnreadableNotificationError } from '../../shared/adapters/notifications/unreadable-notification.ts';
import type { EventIds } from '../../shared/domain/event-findings.ts';
import type { NotificationKey } from '../../shared/domain/notification.ts';
import {
  idsOfEvent,
  isInvalidEvent,
  NO_DESTINATION,
  type PlannedEvent,
  planEvent,
} from '../../shared/domain/planned-event.ts';
import { notificationIds, recordsOfEvents } from './event-deliveries.ts';
import type { EventInput } from './event-input.ts';
import { isoTime, pluralize, sanitize, toSecond } from './print.ts';
import type { Session } from './session.ts';
import { truncateText } from './shorten.ts';

/** An earlier delivery with the same `event_id`. */
type EarlierUse = {
  notification: string;
  time: string;
  status: string;
  /** False if the other event differs, apart from its plan: the service then reports a conflict. */
  same_content: boolean;
  /** Whether the plan of the checked event lists the notification. */
  is_planned: boolean;
};

/** What the service would do with an event, as far as that differs from delivering it to its plan. */
export type OnlineFindings = {
  /** IDs of planned notifications that do not exist: dispatch skips them. */
  unknown: string[];
  used: EarlierUse[];
};

/** An event, and what is wrong with it as dispatch would report it. */
export type CheckedEvent = {
  input: EventInput;
  ids: EventIds;
  errors: string[];
  warnings: string[];
  /** Undefined if there are errors. */
  planned: PlannedEvent | undefined;
};

/**
 * Checks events as dispatch does, without a stack.
 *
 * @param nowMs when SQS would accept the events, ms since the epoch
 */
export const checkEvents = (inputs: readonly EventInput[], nowMs: number): CheckedEvent[] =>
  inputs.map((input): CheckedEvent => {
    const planned = planEvent(input.text, nowMs);
    if (isInvalidEvent(planned)) {
      const { ids, errors, warnings } = planned;
      return { input, ids, errors, warnings, planned: undefined };
    }
    const warnings = [...planned.warnings, ...(planned.hasNoDestination ? [NO_DESTINATION] : [])];
    return { input, ids: idsOfEvent(planned), errors: [], warnings, planned };
  });

/** Compares events with the notifications and the delivery records of their tenants. Returns as many findings. */
export const checkOnline = async (session: Session, events: readonly PlannedEvent[]): Promise<OnlineFindings[]> => {
  const [unknown, used] = await Promise.all([findUnknown(session, events), findUsed(session, events)]);
  return events.map((event) => ({ unknown: unknown.get(event) ?? [], used: used.get(event) ?? [] }));
};

/** Lists the notifications of each tenant once, and reads the records of all events together. */
const findUsed = async (
  session: Session,
  events: readonly PlannedEvent[],
): Promise<ReadonlyMap<PlannedEvent, EarlierUse[]>> => {
  const existing = new Map<string, string[]>();
  for (const tenant of new Set(events.map(({ shared: { header } }) => header.tenant_id))) {
    existing.set(tenant, await Array.fromAsync(notificationIds(session, tenant)));
  }
  const recordsOf = await recordsOfEvents(
    session,
    events.map(({ shared: { header }, ids }) => ({
      tenant: header.tenant_id,
      eventId: header.event_id,
      ids: [...ids, ...(existing.get(header.tenant_id) ?? [])],
    })),
  );
  return new Map(
    events.map((planned, index) => {
      const used = (recordsOf[index] ?? []).map(({ notification, ...record }) => ({
        notification,
        time: isoTime(record.created_at_ms),
        status: record.status,
        same_content: record.content_hash === planned.shared.contentHash,
        is_planned: planned.ids.includes(notification),
      }));
      return [planned, used.toSorted((left, right) => compare(left, right))];
    }),
  );
};

const compare = (left: EarlierUse, right: EarlierUse): number =>
  left.time.localeCompare(right.time) || left.notification.localeCompare(right.notification);

/** Reads the notifications of all events together. */
const findUnknown = async (
  { notifications }: Session,
  events: readonly PlannedEvent[],
): Promise<ReadonlyMap<PlannedEvent, string[]>> => {
  const keysOf = ({ shared, ids }: PlannedEvent) => ids.map((id) => ({ tenant: shared.header.tenant_id, id }));
  const keys = new Map(events.flatMap(keysOf).map((key) => [`${key.id} ${key.tenant}`, key]));
  const targets = notifications.targets([...keys.values()]);
  const exists = async (key: NotificationKey): Promise<boolean> => {
    try {
      return (await targets.find(key)) !== undefined;
    } catch (error) {
      if (error instanceof UnreadableNotificationError) return true;
      throw error;
    }
  };
  return new Map(
    await Promise.all(
      events.map(async (planned): Promise<[PlannedEvent, string[]]> => {
        const existing = await Promise.all(keysOf(planned).map(exists));
        return [planned, planned.ids.filter((_, index) => !existing[index])];
      }),
    ),
  );
};

/** Returns whether the service would reject the event for a notification, or deliver it to none. */
export const isUseless = ({ ids }: PlannedEvent, { unknown, used }: OnlineFindings): boolean => {
  const planned = used.filter(({ is_planned }) => is_planned);
  const isNewForNone = planned.length > 0 && planned.length === ids.length - unknown.length;
  return isNewForNone || planned.some(({ same_content }) => !same_content);
};

/** Returns one sentence per finding; none if the service would deliver the event to its plan. */
export const findings = ({ unknown, used }: OnlineFindings): string[] => {
  const planned = used.filter(({ is_planned }) => is_planned);
  const repeated = planned.filter(({ same_content }) => same_content);
  const conflicting = planned.filter(({ same_content }) => !same_content);
  const elsewhere = used.filter(({ is_planned }) => !is_planned);
  return [
    ...sentence(unknown, 'in the plan does not exist and is skipped', 'in the plan do not exist and are skipped'),
    ...sentence(
      repeated.map(describe),
      'has this event already and does not get it again',
      'have this event already and do not get it again',
    ),
    ...sentence(
      conflicting.map(describe),
      'has a different event with this event_id, so this one is not sent and an alarm fires',
      'have a different event with this event_id, so this one is not sent and an alarm fires',
    ),
    ...sentence(
      elsewhere.map(describe),
      'outside the plan has an event with this event_id',
      'outside the plan have an event with this event_id',
    ),
  ];
};

const describe = ({ notification, time, status }: EarlierUse): string =>
  `${notification} (${toSecond(time)}, ${status})`;

/** In a text; JSON has all. */
const MAX_LISTED = 5;
const MAX_ITEM_WIDTH = 80;

/** A plan can list any text as an ID. */
const listItem = (text: string): string => truncateText(sanitize(text), MAX_ITEM_WIDTH, 'end');

const sentence = (items: readonly string[], singular: string, plural: string): string[] => {
  if (items.length === 0) return [];
  const rest = items.length - MAX_LISTED;
  const listed = items.slice(0, MAX_LISTED).map(listItem).join(', ');
  const what = `${pluralize(items.length, 'notification')} ${items.length === 1 ? singular : plural}`;
  return [`${what}: ${listed}${rest > 0 ? ` and ${rest} more` : ''}.`];
};
