import { UnreadableNotificationError } from '../../shared/adapters/notifications/unreadable-notification.ts';
import type { PlannedEvent } from '../../shared/domain/planned-event.ts';
import { notificationIds, recordsOfEvent } from './event-deliveries.ts';
import { formatTime, pluralize, sanitize } from './print.ts';
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
export type EventCheck = {
  /** IDs of planned notifications that do not exist: dispatch skips them. */
  unknown: string[];
  used: EarlierUse[];
};

/** Checks an event against the notifications and the delivery records of its tenant. */
export const checkEvent = async (session: Session, { event, ids, shared }: PlannedEvent): Promise<EventCheck> => {
  const tenant = event.tenant_id;
  const [unknown, records] = await Promise.all([
    unknownIds(session, tenant, ids),
    Array.fromAsync(notificationIds(session, tenant)).then((existing) =>
      recordsOfEvent(session, { tenant, eventId: event.event_id }, [...ids, ...existing]),
    ),
  ]);
  const used = records.map(({ notification, ...record }) => ({
    notification,
    time: formatTime(record.created_at_ms),
    status: record.status,
    same_content: record.content_hash === shared.contentHash,
    is_planned: ids.includes(notification),
  }));
  return { unknown, used: used.toSorted((left, right) => compare(left, right)) };
};

const compare = (left: EarlierUse, right: EarlierUse): number =>
  left.time.localeCompare(right.time) || left.notification.localeCompare(right.notification);

const unknownIds = async ({ notifications }: Session, tenant: string, ids: readonly string[]): Promise<string[]> => {
  const targets = notifications.targets(ids.map((id) => ({ tenant, id })));
  const exists = async (id: string): Promise<boolean> => {
    try {
      return (await targets.find({ tenant, id })) !== undefined;
    } catch (error) {
      if (error instanceof UnreadableNotificationError) return true;
      throw error;
    }
  };
  const existing = await Promise.all(ids.map(exists));
  return ids.filter((_, index) => !existing[index]);
};

/** Returns whether the service would reject the event for a notification, or deliver it to none. */
export const isUseless = ({ ids }: PlannedEvent, { unknown, used }: EventCheck): boolean => {
  const planned = used.filter(({ is_planned }) => is_planned);
  const isNewForNone = planned.length > 0 && planned.length === ids.length - unknown.length;
  return isNewForNone || planned.some(({ same_content }) => !same_content);
};

/** Returns one sentence per finding; none if the service would deliver the event to its plan. */
export const findings = ({ unknown, used }: EventCheck): string[] => {
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

const describe = ({ notification, time, status }: EarlierUse): string => `${notification} (${time}, ${status})`;

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
