import {
  type AlarmEvent,
  type AlarmState,
  isAlarmEvent,
  planLists,
  webhookPayload,
} from '../../shared/contracts/alarm-event.ts';
import type { EventHeader } from '../../shared/contracts/event-header.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import type { Delivery } from '../../shared/contracts/messages.ts';
import { parseDelivery } from '../../shared/domain/delivery-message.ts';
import { eventHeader } from '../../shared/domain/event-header.ts';
import { deliveryBody, sharedBody } from '../../shared/domain/new-delivery-message.ts';

/** The time of `alarmEvent()`, in ms. */
export const EVENT_TIME_MS = 1_700_000_000_000;

/** Creates an alarm event that is always the same, except for the changes. */
export const alarmEvent = (changes: Partial<AlarmEvent> = {}): AlarmEvent => ({
  event_id: `acme:enAAAA:alBBBB:chCCCC:${EVENT_TIME_MS}:CRITICAL`,
  log_entry_id: '6da55310-4200-11e6-9a3c-4b2f0d7f0a11',
  tenant_id: 'acme',
  details: {
    target: 'web-1.example.com',
    timestamp: EVENT_TIME_MS,
    metrics: { duration: { type: 'i', data: 153, unit: 'milliseconds' } },
    state: 'CRITICAL',
    status: 'Disk is full',
    observations: [],
  },
  entity: { id: 'enAAAA', label: 'web-1', ip_addresses: { default: '192.0.2.1' } },
  check: { id: 'chCCCC', label: 'Disk usage', type: 'agent.filesystem' },
  alarm: { id: 'alBBBB', label: 'Disk space', active_suppressions: [] },
  previous_state: 'OK',
  ...changes,
});

/** Returns the header of an alarm event that SQS accepted at `EVENT_TIME_MS`. */
export const headerOf = (event: AlarmEvent): EventHeader => eventHeader(event, EVENT_TIME_MS);

/** Returns what senders know of `alarmEvent()`, except for the changes. */
export const alarmHeader = (changes: Partial<AlarmEvent> = {}): EventHeader => headerOf(alarmEvent(changes));

/** Returns an alarm event as an `Alert` contains it. */
export const alertContent = (event: AlarmEvent): { event: EventHeader; payload: string } => ({
  event: headerOf(event),
  payload: JSON.stringify(webhookPayload(event)),
});

/** JSON with numbers that JavaScript writes differently. */
export const EXACT_NUMBERS = '{"version":1.0,"id":12345678901234567890}';

/** An alarm event with these numbers, as an `Alert` contains it. */
export const exactContent = alertContent(alarmEvent({ check: parseJson(EXACT_NUMBERS) }));

/** A trace as the fields of an event. */
export const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
export const traceFields = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01`, tracestate: 'vendor=secret-state' };

let sequence = 0;

type NewAlarmEventOptions = { state?: AlarmState; timeMs?: number; alarm?: string; [field: string]: unknown };

/** Creates an alarm event with a new ID whose plan lists these notifications for its state. */
export const newAlarmEvent = (
  tenant: string,
  notificationIds: readonly string[],
  { state = 'CRITICAL', timeMs = Date.now() + sequence, alarm = 'alDisk', ...changes }: NewAlarmEventOptions = {},
): AlarmEvent => {
  sequence++;
  const { details, ...event } = alarmEvent();
  return {
    ...event,
    event_id: `${tenant}:enWeb${sequence}:${alarm}:chDisk:${timeMs}:${state}`,
    log_entry_id: `log-${sequence}`,
    tenant_id: tenant,
    details: { ...details, timestamp: timeMs, state },
    alarm: { id: alarm, label: 'Disk space' },
    previous_state: state === 'OK' ? 'CRITICAL' : 'OK',
    notification_plan: { id: 'npOps', [planLists[state]]: notificationIds },
    ...changes,
  };
};

/**
 * Returns the message body that dispatch sends for this event and notification.
 *
 * @throws Error if it is not an alarm event
 */
export const deliveryMessage = (notificationId: string, event: unknown, acceptedAtMs = Date.now()): string => {
  if (!isAlarmEvent(event)) throw new Error('Not an alarm event.');
  return deliveryBody({ id: notificationId }, sharedBody(event, { accepted_at_ms: acceptedAtMs }));
};

/** Returns the delivery of a message body. @throws Error if it is invalid */
export const readDelivery = (body: string): Delivery => {
  const delivery = parseDelivery(body);
  if (!delivery) throw new Error('Not a delivery message.');
  return delivery;
};
