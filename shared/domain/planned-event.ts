import {
  type AlarmEvent,
  alarmEvent,
  brokenEventRules,
  checkPlan,
  type EventFindings,
  HEARTBEAT_TENANT,
  isAlarmEvent,
  tenantId,
} from '../contracts/alarm-event.ts';
import { isJsonObject, parseJson } from '../contracts/json.ts';
import type { Correlation } from '../contracts/messages.ts';
import { NOTICE_EVENT_ID } from '../contracts/notice.ts';
import type { DeadLetterCause, FailureReason } from '../contracts/outcomes.ts';
import { readTrace } from '../contracts/trace.ts';
import { isStateChange, PREVIOUS_STATE_RULE, plannedNotifications, previousState } from './event-header.ts';
import { readEventTime } from './event-time.ts';
import { type SharedBody, sharedBody } from './new-delivery-message.ts';

/** Why an event is sent to nobody, with the sentence that `event check` shows. */
export const noDeliveryReasons = {
  unchanged: 'previous_state equals details.state, so the event is not sent',
  no_destination: 'notification_plan lists no notification for the state of the event',
} as const;
export type NoDeliveryReason = keyof typeof noDeliveryReasons;

const noDeliveryReason = (event: AlarmEvent, ids: readonly string[]): NoDeliveryReason | undefined => {
  if (!isStateChange(event)) return 'unchanged';
  return ids.length === 0 ? 'no_destination' : undefined;
};

export type PlannedEvent = {
  shared: SharedBody;
  ids: readonly string[];
  acceptedAtMs: number;
  correlation: Correlation;
  warnings: readonly string[];
  /** Why the event is sent to nobody, which is legal. */
  noDelivery: NoDeliveryReason | undefined;
};

export type InvalidEvent = EventFindings & {
  reason: Extract<FailureReason, 'malformed' | 'too_large' | 'too_many_notifications'>;
  cause: Exclude<DeadLetterCause, 'destination'>;
  ids: EventIds;
};

export type ReceivedMessage = {
  /** Its trace applies if the event itself has none. */
  correlation?: Correlation;
  receivedAtMs?: number;
  /** Whether the schedule of heartbeats, and no producer, has sent it. */
  canBeHeartbeat?: boolean;
};

const KIB = 1_024;

/** Of UTF-8. */
export const MAX_EVENT_BYTES = 256 * KIB;
/** For the state of the event. */
export const MAX_PLANNED_NOTIFICATIONS = 1_024;
/** Size of an event, times the number of its notifications: all its deliveries together. */
export const MAX_DELIVERIES_BYTES = 64 * KIB * KIB;

const TOO_LARGE_RULE = `the event must be at most ${MAX_EVENT_BYTES / KIB} KiB`;
const TOO_MANY_RULE = `notification_plan must list at most ${MAX_PLANNED_NOTIFICATIONS} notifications for the state of the event`;
const DELIVERIES_TOO_LARGE_RULE = `the size of the event times the number of its notifications must be at most ${MAX_DELIVERIES_BYTES / KIB / KIB} MiB`;

const withError = (error: string): EventFindings => ({ errors: [error], warnings: [] });

const invalidEvent = (
  reason: InvalidEvent['reason'],
  findings: EventFindings,
  { correlation = {} }: ReceivedMessage,
  value?: unknown,
): InvalidEvent => ({
  ...findings,
  reason,
  cause: 'producer',
  ids: { trace_id: correlation.trace?.id, ...readableIds(value) },
});

const brokenBound = (ids: readonly string[], bytes: number) => {
  if (ids.length > MAX_PLANNED_NOTIFICATIONS) return { reason: 'too_many_notifications', rule: TOO_MANY_RULE } as const;
  return bytes * ids.length > MAX_DELIVERIES_BYTES
    ? ({ reason: 'too_large', rule: DELIVERIES_TOO_LARGE_RULE } as const)
    : undefined;
};

const plan = (
  value: unknown,
  bytes: number,
  acceptedAtMs: number,
  received: ReceivedMessage,
): PlannedEvent | InvalidEvent => {
  const { receivedAtMs, canBeHeartbeat } = received;
  const findings = checkEvent(value, acceptedAtMs, canBeHeartbeat);
  if (findings.errors.length > 0 || !isAlarmEvent(value)) return invalidEvent('malformed', findings, received, value);
  const ids = plannedNotifications(value);
  const broken = brokenBound(ids, bytes);
  if (broken) return invalidEvent(broken.reason, { ...findings, errors: [broken.rule] }, received, value);
  const correlation = { ...received.correlation, trace: readTrace(value) ?? received.correlation?.trace };
  return {
    shared: sharedBody(value, { accepted_at_ms: acceptedAtMs, dispatched_at_ms: receivedAtMs, ...correlation }),
    ids,
    acceptedAtMs,
    correlation,
    warnings: findings.warnings,
    noDelivery: noDeliveryReason(value, ids),
  };
};

/** Never throws: an invalid message must not fail the rest of the batch. One that is too large is not parsed. */
export const planEvent = (
  body: string,
  acceptedAtMs: number,
  received: ReceivedMessage = {},
): PlannedEvent | InvalidEvent => {
  const bytes = Buffer.byteLength(body);
  if (bytes > MAX_EVENT_BYTES) return invalidEvent('too_large', withError(TOO_LARGE_RULE), received);
  try {
    return plan(parseJson(body), bytes, acceptedAtMs, received);
  } catch (error) {
    if (error instanceof SyntaxError) return invalidEvent('malformed', withError('the event must be JSON'), received);
    if (error instanceof RangeError) {
      // Without the digits of numbers, any depth can be parsed.
      const value: unknown = JSON.parse(body);
      const { warnings } = checkEvent(value, acceptedAtMs);
      return invalidEvent('malformed', { errors: ['the event is nested too deeply'], warnings }, received, value);
    }
    return { ...withError('the event could not be processed'), reason: 'malformed', cause: 'service', ids: {} };
  }
};

export const idsOfEvent = ({
  shared: { header },
  correlation,
}: Pick<PlannedEvent, 'shared' | 'correlation'>): EventIds => ({
  tenant_id: header.tenant_id,
  event_id: header.event_id,
  trace_id: correlation.trace?.id,
});

export const isInvalidEvent = (planned: PlannedEvent | InvalidEvent): planned is InvalidEvent => 'reason' in planned;

export const findingFields = ({
  errors,
  warnings,
}: {
  errors: readonly string[];
  warnings: readonly string[];
}): { detail?: string; warnings?: string } => ({
  ...(errors.length > 0 && { detail: errors.join('; ') }),
  ...(warnings.length > 0 && { warnings: warnings.join('; ') }),
});

/** Producers write an absent previous state as null, too. */
const isAbsent = (previous: unknown): boolean => previous === undefined || previous === null;

const timeWarnings = ({ details, event_id: eventId }: Record<string, unknown>, acceptedAtMs: number): string[] =>
  readEventTime(
    { details: isJsonObject(details) ? details : {}, event_id: typeof eventId === 'string' ? eventId : '' },
    acceptedAtMs,
  ).warnings;

/** @param canBeHeartbeat whether the schedule of heartbeats, and no producer, has sent the event */
export const checkEvent = (value: unknown, acceptedAtMs: number, canBeHeartbeat = false): EventFindings => {
  const errors = brokenEventRules(value);
  if (!isJsonObject(value)) return { errors, warnings: [] };
  if (value.tenant_id === HEARTBEAT_TENANT && !canBeHeartbeat) errors.push('tenant_id must not be the reserved one');
  const { event_id: eventId, details, notification_plan: plan, previous_state: previous } = value;
  if (typeof eventId === 'string' && NOTICE_EVENT_ID.test(eventId))
    errors.push('event_id must not be that of a notice');
  const planFindings = checkPlan(plan, isJsonObject(details) ? details.state : undefined);
  return {
    errors: [...errors, ...planFindings.errors],
    warnings: [
      ...timeWarnings(value, acceptedAtMs),
      ...planFindings.warnings,
      ...(isAbsent(previous) || previousState(value) !== undefined ? [] : [PREVIOUS_STATE_RULE]),
    ],
  };
};

export type EventIds = { tenant_id?: string | undefined; event_id?: string | undefined; trace_id?: string | undefined };

/** Returns the valid IDs of a value that may be no alarm event. */
export const readableIds = (value: unknown): EventIds => {
  if (!isJsonObject(value)) return {};
  const trace = readTrace(value);
  return {
    tenant_id: tenantId.safeParse(value.tenant_id).data,
    event_id: alarmEvent.shape.event_id.safeParse(value.event_id).data,
    ...(trace && { trace_id: trace.id }),
  };
};
