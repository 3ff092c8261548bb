import type { AuditRange } from '../adapters/audits/audit-log.ts';
import type { DeliveryFilter } from '../adapters/deliveries/delivery-reader.ts';
import { type DeliveryStatus, deliveryStatuses } from '../contracts/outcomes.ts';
import { isTimeMs, MAX_EVENT_ID_LENGTH, MAX_TIME_MS, TIME_RULE } from '../contracts/redelivery.ts';
import { badRequest } from '../domain/errors.ts';

/**
 * Returns the times, in ms since the epoch, that a query string has for these parameters.
 *
 * @throws ServiceError 400 with all invalid parameters
 */
export const timeParameters = <Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): { readonly [Parameter in Name]?: number } => {
  const given = names.flatMap((name) => query.getAll(name).map((text) => ({ name, text })));
  const invalid = given.filter(({ text }) => !/^\d{1,13}$/.test(text) || !isTimeMs(Number(text)));
  if (invalid.length > 0) throw badRequest(invalid.map(({ name }) => `${name}: ${TIME_RULE}`).join('; '));
  const times: { [Parameter in Name]?: number } = {};
  // Of a repeated parameter, the first one counts.
  for (const { name, text } of given) times[name] ??= Number(text);
  return times;
};

/**
 * Returns the audit entries that a query string requests: `from` and `to` in ms since the epoch, and `reverse`, which is
 * `true` in any case.
 *
 * @throws ServiceError 400 with all invalid parameters
 */
export const parseAuditRange = (query: URLSearchParams): AuditRange => {
  const { from = 0, to = MAX_TIME_MS } = timeParameters(query, ['from', 'to']);
  return { fromMs: from, toMs: to, isReverse: query.get('reverse')?.toLowerCase() === 'true' };
};

/** The deliveries that a request selects: those of an event, or those that match a filter. */
export type DeliverySelection = { eventId: string } | { filter: DeliveryFilter };

const OTHER_PARAMETERS = ['alarm_id', 'entity_id', 'from', 'to', 'status'] as const;

const isDeliveryStatus = (text: string): text is DeliveryStatus => deliveryStatuses.some((status) => status === text);

/** Returns an ID that a query string has, or undefined. @throws ServiceError 400 if it is empty */
const idParameter = (query: URLSearchParams, name: string): string | undefined => {
  const id = query.get(name) ?? undefined;
  if (id === '') throw badRequest(`${name}: must not be empty`);
  return id;
};

const statusParameters = (query: URLSearchParams): DeliveryStatus[] => {
  const texts = [...new Set(query.getAll('status'))];
  const statuses = texts.filter(isDeliveryStatus);
  if (statuses.length < texts.length) throw badRequest(`status: must be one of ${deliveryStatuses.join(', ')}`);
  return statuses;
};

/** Returns what a query string selects. @throws ServiceError 400 */
export const parseDeliverySelection = (query: URLSearchParams): DeliverySelection => {
  const eventId = idParameter(query, 'event_id');
  if (eventId === undefined) {
    const { from: fromMs, to: toMs } = timeParameters(query, ['from', 'to']);
    const [alarmId, entityId] = [idParameter(query, 'alarm_id'), idParameter(query, 'entity_id')];
    return { filter: { statuses: statusParameters(query), alarmId, entityId, fromMs, toMs } };
  }
  if (eventId.length > MAX_EVENT_ID_LENGTH) {
    throw badRequest(`event_id: must be at most ${MAX_EVENT_ID_LENGTH} characters`);
  }
  const others = OTHER_PARAMETERS.filter((name) => query.has(name));
  if (others.length > 0) throw badRequest(`event_id: must not be combined with ${others.join(', ')}`);
  return { eventId };
};
