import { START_MS } from '../engine/stack.ts';
import type { OccupyingEvent, PlannedEvent } from './scenario.ts';

const MINUTE_MS = 60_000;

/** Returns when the state of an event's alarm changed, ms since the epoch. */
export const eventTimeMs = ({ timeMs }: PlannedEvent): number => START_MS + timeMs;

export const eventIdOf = (event: PlannedEvent): string => {
  const { tenant, alarm, state, number, hasNoTime } = event;
  return `${tenant}:en:${alarm}:ch${number}:${hasNoTime ? 'untimed' : eventTimeMs(event)}:${state}`;
};

/** Returns an event as a producer sends it. @param isAltered true if it is another one with the same ID */
export const eventBody = (event: PlannedEvent, ids: ReadonlyMap<number, string>, isAltered = false): string => {
  const { tenant, number, alarm, state, notifications, paddingBytes = 0 } = event;
  const list = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' }[state];
  return JSON.stringify({
    event_id: eventIdOf(event),
    log_entry_id: `log-${number}`,
    tenant_id: tenant,
    details: {
      target: 'web.test',
      timestamp: event.hasNoTime ? undefined : eventTimeMs(event),
      state,
      status: 'simulated',
      metrics: {},
      observations: [],
    },
    entity: {
      id: 'en',
      label: `host-${tenant}`,
      ip_addresses: { default: '192.0.2.1' },
      ...(paddingBytes > 0 && { metadata: { padding: 'x'.repeat(paddingBytes) } }),
    },
    check: { id: 'ch', label: 'Check', type: 'agent.filesystem' },
    alarm: { id: alarm, label: `${alarm} ${isAltered ? 'altered' : `#${number}#`}`, active_suppressions: [] },
    previous_state: number % 2 === 0 ? null : state === 'OK' ? 'CRITICAL' : 'OK',
    notification_plan: { id: 'np', [list]: notifications.map((index) => ids.get(index) ?? `ntUnknown${index}`) },
  });
};

/** Returns an event with the ID of the summary that a notification gets. */
export const occupyingBody = (
  { tenant, notification, windowMinutes }: OccupyingEvent,
  ids: ReadonlyMap<number, string>,
  nowMs: number,
): string => {
  const lengthMs = windowMinutes * MINUTE_MS;
  const id = ids.get(notification) ?? '';
  return JSON.stringify({
    event_id: `${tenant}:${id}-${windowMinutes}m:${nowMs - (nowMs % lengthMs)}:summary`,
    tenant_id: tenant,
    details: { state: 'OK' },
    entity: { id: 'en' },
    alarm: { id: 'occupied' },
    notification_plan: { ok_state: [id] },
  });
};
