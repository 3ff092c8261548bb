import { truncateKey } from '../../shared/contracts/text.ts';
import type { EventIds } from '../../shared/domain/event-findings.ts';
import { OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import {
  idsOfEvent,
  isInvalidEvent,
  noDeliveryReasons,
  type PlannedEvent,
  planEvent,
} from '../../shared/domain/planned-event.ts';
import { notificationIds, recordsOfEvents } from './event-deliveries.ts';
import type { EventInput } from './event-input.ts';
import { sanitize, toSecond } from './print.ts';
import type { Session } from './session.ts';

/** An earlier delivery with the same `event_id`. */
type EarlierUse = {
  notification_id: string;
  /** Ms since the epoch. */
  created_at: number;
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
    const warnings = [...planned.warnings, ...(planned.noDelivery ? [noDeliveryReasons[planned.noDelivery]] : [])];
    return { input, ids: idsOfEvent(planned), errors: [], warnings, planned };
  });

/**
 * Compares events with the notifications and the delivery records of their tenants: lists the notifications of each
 * tenant once, and reads the records of all events together. Returns as many findings.
 */
export const checkOnline = async (session: Session, events: readonly PlannedEvent[]): Promise<OnlineFindings[]> => {
  const existing = new Map<string, string[]>();
  for (const tenant of new Set(events.map(({ shared: { header } }) => header.tenant_id))) {
    existing.set(tenant, await notificationIds(session, tenant));
  }
  const existingOf = ({ shared: { header } }: PlannedEvent) => existing.get(header.tenant_id) ?? [];
  const records = await recordsOfEvents(
    session,
    events.map((planned) => ({
      tenant: planned.shared.header.tenant_id,
      eventId: planned.shared.header.event_id,
      ids: [...planned.ids, ...existingOf(planned)],
    })),
  );
  const findingsOf = async (planned: PlannedEvent, index: number): Promise<OnlineFindings> => {
    const { tenant_id: tenant } = planned.shared.header;
    const used = (records[index] ?? []).map(({ notification, ...record }) => ({
      notification_id: notification,
      created_at: record.created_at_ms,
      status: record.status,
      same_content: record.content_hash === planned.shared.contentHash,
      is_planned: planned.ids.includes(notification),
    }));
    // The list has no unreadable ones, and that of the operators cannot be planned.
    const unlisted = planned.ids.filter((id) => id === OPERATORS_NOTIFICATION_ID || !existingOf(planned).includes(id));
    const exist = await Promise.all(unlisted.map((id) => session.notifications.exists({ tenant, id })));
    return { unknown: unlisted.filter((_, at) => !exist[at]), used: used.toSorted(byTime) };
  };
  return Promise.all(events.map(findingsOf));
};

const byTime = (left: EarlierUse, right: EarlierUse): number =>
  left.created_at - right.created_at || left.notification_id.localeCompare(right.notification_id);

/** Returns whether the service would reject the event for a notification, or deliver it to none. */
export const isUseless = ({ ids }: PlannedEvent, { unknown, used }: OnlineFindings): boolean => {
  const planned = used.filter(({ is_planned }) => is_planned);
  const isNewForNone = planned.length > 0 && planned.length === ids.length - unknown.length;
  return isNewForNone || planned.some(({ same_content }) => !same_content);
};

/** Returns one sentence per finding; none if the service would deliver the event to its plan. */
export const findings = ({ unknown, used }: OnlineFindings): string[] => {
  const earlier = (isPlanned: boolean, isSame?: boolean): string[] =>
    used
      .filter(({ is_planned, same_content }) => is_planned === isPlanned && same_content === (isSame ?? same_content))
      .map(({ notification_id, created_at, status }) => `${notification_id} (${toSecond(created_at)}, ${status})`);
  return [
    // A plan can list any text as an ID.
    ...sentence('These notifications of the plan do not exist and are skipped', unknown.map(truncateKey)),
    ...sentence('These notifications have this event already and do not get it again', earlier(true, true)),
    ...sentence(
      'These notifications have a different event with this event_id, so this one is not sent and an alarm fires',
      earlier(true, false),
    ),
    ...sentence('These notifications outside the plan have an event with this event_id', earlier(false)),
  ];
};

/** In a text; JSON has all. */
const MAX_LISTED = 5;

const sentence = (what: string, items: readonly string[]): string[] => {
  if (items.length === 0) return [];
  const rest = items.length - MAX_LISTED;
  const listed = items.slice(0, MAX_LISTED).map(sanitize).join(', ');
  return [`${what}: ${listed}${rest > 0 ? ` and ${rest} more` : ''}.`];
};
