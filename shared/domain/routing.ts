import type { AlarmEvent, AlarmState } from '../contracts/alarm-event.ts';

const planList = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' } as const satisfies Record<
  AlarmState,
  string
>;

/**
 * The ids of the notifications that hear of an event (design 3, Dispatch): those that the plan lists for its state, once
 * each, and only if the state changed. Undefined where the plan's list for this state is not a list of ids: then nobody
 * can tell who should have heard of it.
 */
export const plannedNotifications = (event: AlarmEvent): string[] | undefined => {
  const { details, previous_state: previous, notification_plan: plan } = event;
  if (previous === details.state || plan === undefined || plan === null) return [];
  if (typeof plan !== 'object' || Array.isArray(plan)) return undefined;
  const list: unknown = Object.entries(plan).find(([key]) => key === planList[details.state])?.[1] ?? [];
  if (!Array.isArray(list) || !list.every((id) => typeof id === 'string')) return undefined;
  return [...new Set<string>(list)];
};
