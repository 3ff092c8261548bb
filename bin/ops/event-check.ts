import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { alarmEvent, listedNotifications, planLists } from '../../shared/contracts/alarm-event.ts';
import { isJsonObject, jsonOrUndefined } from '../../shared/contracts/json.ts';
import { notificationTypes } from '../../shared/contracts/notification-types.ts';
import { truncateKey } from '../../shared/contracts/text.ts';
import { readTrace } from '../../shared/contracts/trace.ts';
import { nearestName } from '../../shared/contracts/unknown-names.ts';
import type { DeliveryTarget } from '../../shared/domain/notification.ts';
import { OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import {
  type EventIds,
  idsOfEvent,
  isInvalidEvent,
  noDeliveryReasons,
  type PlannedEvent,
  planEvent,
} from '../../shared/domain/planned-event.ts';
import { errorSummary, OperationError } from './errors.ts';
import { sanitize, toSecond } from './print.ts';
import type { Session } from './session.ts';
import { recordsOfEvents, targetsOf } from './targets.ts';

export type EventInput = {
  /** The file, or `-` for standard input. */
  file: string;
  /** The line of an event in newline-delimited JSON, from 1. */
  line?: number;
  /** The index of an event in an array, from 0. */
  index?: number;
  text: string;
};

export const describeSource = ({ file, line, index }: EventInput): string => {
  const source = file === '-' ? 'Standard input' : file;
  if (line !== undefined) return `${source}, line ${line}`;
  return index === undefined ? source : `${source}, index ${index}`;
};

/**
 * Reads one event, an array, or NDJSON from each file; `-` is standard input. @throws OperationError without an event
 */
export const readEvents = async (files: readonly string[]): Promise<EventInput[]> => {
  const inputs: EventInput[] = [];
  for (const file of files) {
    const found = splitEvents(file, await readText(file));
    if (found.length === 0) throw new OperationError(`${describeSource({ file, text: '' })} contains no event.`);
    inputs.push(...found);
  }
  return inputs;
};

/** Reads a file, or standard input for `-`. @throws OperationError if the file cannot be read */
const readText = async (file: string): Promise<string> => {
  try {
    return file === '-' ? await readAll(process.stdin) : readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperationError(`${file} cannot be read: ${errorSummary(error)}`);
  }
};

/** Returns the events of a text. A text that is neither JSON nor NDJSON is one event, which is not valid. */
export const splitEvents = (file: string, text: string): EventInput[] => {
  const parsed = jsonOrUndefined(text);
  if (Array.isArray(parsed)) return parsed.map((event, index) => ({ file, index, text: JSON.stringify(event) }));
  if (parsed !== undefined) return [{ file, text }];
  const lines = text
    .split('\n')
    .map((line, index) => ({ file, line: index + 1, text: line }))
    .filter((line) => line.text.trim() !== '');
  const isLineDelimited = lines.length > 1 && lines.some((line) => isJsonObject(jsonOrUndefined(line.text)));
  return isLineDelimited || lines.length === 0 ? lines : [{ file, text }];
};

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

/** The findings about an event, and warnings that concern other events with its plan. */
export type CheckedOnline = { online: OnlineFindings; warnings: string[] };

/** Without an OK, an incident stays open. */
const openIncidentWarnings = (event: unknown, targets: readonly DeliveryTarget[]): string[] => {
  const plan = isJsonObject(event) ? event.notification_plan : undefined;
  const [critical, ok] = [listedNotifications(plan, 'CRITICAL'), listedNotifications(plan, 'OK')];
  const ids = targets
    .filter(({ type, ordered }) => notificationTypes[type].hasIncidents || ordered)
    .flatMap(({ id }) => (critical.includes(id) && !ok.includes(id) ? [id] : []));
  const what = 'notification_plan lists pagers, routers or ordered webhooks for CRITICAL and not for OK';
  return ids.length > 0 ? [`${what}: ${listed(ids)}`] : [];
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

/** Checks events as dispatch does, without a stack, as if SQS accepted them at `nowMs`. */
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

/** Compares events with the notifications and the delivery records of their tenants. Returns as many findings. */
export const checkOnline = async (
  session: Session,
  inputs: readonly { planned: PlannedEvent; input: EventInput }[],
): Promise<CheckedOnline[]> => {
  const events = inputs.map(({ planned }) => planned);
  const targets = new Map<string, DeliveryTarget[]>();
  for (const tenant of new Set(events.map(({ shared: { header } }) => header.tenant_id))) {
    targets.set(tenant, await Array.fromAsync(targetsOf(session, tenant)));
  }
  const targetsOfEvent = ({ shared: { header } }: PlannedEvent) => targets.get(header.tenant_id) ?? [];
  const existingOf = (planned: PlannedEvent) => [
    ...targetsOfEvent(planned).map(({ id }) => id),
    OPERATORS_NOTIFICATION_ID,
  ];
  const records = await recordsOfEvents(
    session,
    events.map((planned) => ({
      tenant: planned.shared.header.tenant_id,
      eventId: planned.shared.header.event_id,
      ids: [...planned.ids, ...existingOf(planned)],
    })),
  );
  const findingsOf = async ({ planned, input }: (typeof inputs)[number], index: number): Promise<CheckedOnline> => {
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
    return {
      online: { unknown: unlisted.filter((_, at) => !exist[at]), used: used.toSorted(byTime) },
      warnings: openIncidentWarnings(jsonOrUndefined(input.text), targetsOfEvent(planned)),
    };
  };
  return Promise.all(inputs.map(findingsOf));
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

const sentence = (what: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`${what}: ${listed(items)}.`];

const listed = (items: readonly string[]): string => {
  const rest = items.length - MAX_LISTED;
  return `${items.slice(0, MAX_LISTED).map(sanitize).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
};

const knownLists: readonly string[] = Object.values(planLists);

const knownKeys = [...Object.keys(alarmEvent.shape), 'check', 'log_entry_id', 'traceparent', 'tracestate'];
const knownDetails = ['state', 'status', 'timestamp'];

const MAX_KEYS = 10;

/** Names keys that are most like a known one that is missing. Producers may send any others. */
const misspelledKeys = (path: string, value: unknown, known: readonly string[]): string[] => {
  if (!isJsonObject(value)) return [];
  const missing = known.filter((name) => value[name] === undefined);
  const misspelled = Object.keys(value).flatMap((key) => {
    const nearest = known.includes(key) ? undefined : nearestName(key, missing);
    return nearest === undefined ? [] : [`${keyName(path, key)} is unknown: the nearest known key is ${nearest}`];
  });
  return misspelled.slice(0, MAX_KEYS);
};

const keyName = (path: string, key: string): string => path + truncateKey(sanitize(key));

/** Names unknown lists of a plan. Dispatch reports only that there are some, because it logs no content of an event. */
const unknownLists = (plan: unknown): string[] =>
  Object.entries(isJsonObject(plan) ? plan : {})
    .filter(([key, value]) => Array.isArray(value) && !knownLists.includes(key))
    .map(([key]) => {
      const nearest = nearestName(key, knownLists);
      const hint = nearest ? `the nearest known list is ${nearest}` : `the lists are ${knownLists.join(', ')}`;
      return `${keyName('notification_plan.', key)} is unknown: ${hint}`;
    });

/** Dispatch drops an invalid trace without a warning, because the alert is complete without it. */
const traceWarnings = (event: Readonly<Record<string, unknown>>): string[] => {
  const { headers } = readTrace(event) ?? {};
  return (['traceparent', 'tracestate'] as const)
    .filter((name) => event[name] !== undefined && headers?.[name] === undefined)
    .map((name) => `${name} is not valid and is dropped`);
};

const eventIdWarnings = ({ event_id: id, tenant_id, alarm, details }: Record<string, unknown>): string[] => {
  const parts = typeof id === 'string' ? id.split(':') : [];
  const [tenant, , alarmId] = parts.length === 6 ? parts : [];
  const state = parts.length > 1 ? parts.at(-1) : undefined;
  const named: readonly [name: string, inId: string | undefined, given: unknown][] = [
    ['tenant_id', tenant, tenant_id],
    ['alarm.id', alarmId, isJsonObject(alarm) ? alarm.id : undefined],
    [
      'details.state',
      Object.hasOwn(planLists, state ?? '') ? state : undefined,
      isJsonObject(details) ? details.state : undefined,
    ],
  ];
  return named.flatMap(([name, inId, given]) =>
    inId === undefined || inId === given ? [] : [`event_id names another ${name}: ${keyName('', inId)}`],
  );
};

const repeatedNotifications = (plan: unknown): string[] =>
  Object.values(planLists).flatMap((key) => {
    const ids = isJsonObject(plan) && Array.isArray(plan[key]) ? plan[key].map(String) : [];
    const repeated = new Set(ids.filter((id, index) => ids.indexOf(id) < index));
    return repeated.size === 0 ? [] : [`notification_plan.${key} lists notifications twice: ${listed([...repeated])}`];
  });

const adviceOn = (event: Record<string, unknown>): string[] => [
  ...misspelledKeys('', event, knownKeys),
  ...misspelledKeys('details.', event.details, knownDetails),
  ...traceWarnings(event),
  ...unknownLists(event.notification_plan),
  ...eventIdWarnings(event),
  ...repeatedNotifications(event.notification_plan),
];

/** Adds warnings about events that dispatch does not give. */
export const withAdvice = (events: readonly CheckedEvent[]): CheckedEvent[] => {
  const firstOfId = new Map<string, { input: CheckedEvent['input']; contentHash: string }>();
  return events.map((checked) => {
    const { input, ids, planned } = checked;
    const event = jsonOrUndefined(input.text);
    const advice = isJsonObject(event) ? adviceOn(event) : [];
    const warnings = [...checked.warnings, ...advice];
    if (!planned) return { ...checked, warnings };
    const { contentHash } = planned.shared;
    const id = JSON.stringify([ids.tenant_id, ids.event_id]);
    const first = firstOfId.get(id);
    if (!first) firstOfId.set(id, { input, contentHash });
    if (!first || first.contentHash === contentHash) return { ...checked, warnings };
    const error = `event_id is also that of ${describeSource(first.input)}, whose content differs: only the one that arrives first is sent`;
    return { ...checked, errors: [error], warnings, planned: undefined };
  });
};
