import { alarmEvent, brokenEventRules, HEARTBEAT_TENANT, tenantId } from '../contracts/alarm-event.ts';
import { isJsonObject } from '../contracts/json.ts';
import { NOTICE_EVENT_ID } from '../contracts/notice.ts';
import { checkPlan } from '../contracts/notification-plan.ts';
import { readTrace } from '../contracts/trace.ts';
import { PREVIOUS_STATE_RULE, previousState } from './event-header.ts';
import { readEventTime } from './event-time.ts';

/**
 * Rules, each with its field and without a value, so that they can be logged (docs/decisions/events.md#alarm-events).
 * An event with warnings only can be delivered.
 */
export type EventFindings = {
  errors: string[];
  warnings: string[];
};

/** For log lines and attributes of dead letters. */
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

/** For logs. */
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
