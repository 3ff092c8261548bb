import type { AlarmEvent, AlarmState } from '../contracts/alarm-event.ts';

const planList = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' } as const satisfies Record<
  AlarmState,
  string
>;

/** Returns the rule that a malformed notification plan breaks, without any value of the event. */
export const brokenPlanRule = ({ details, notification_plan: plan }: AlarmEvent): string =>
  typeof plan === 'object' && !Array.isArray(plan)
    ? `notification_plan.${planList[details.state]} must be a list of notification IDs`
    : 'notification_plan must be an object';

/**
 * Returns the IDs that the notification plan lists for the event's state, without duplicates, or an empty list if the
 * state did not change (DECISIONS.md#routing). Returns undefined if the plan is malformed.
 */
export const plannedNotifications = (event: AlarmEvent): string[] | undefined => {
  const { details, previous_state: previous, notification_plan: plan } = event;
  if (previous === details.state || plan === undefined || plan === null) return [];
  if (typeof plan !== 'object' || Array.isArray(plan)) return undefined;
  const list: unknown = Object.entries(plan).find(([key]) => key === planList[details.state])?.[1] ?? [];
  if (!Array.isArray(list) || !list.every((id) => typeof id === 'string')) return undefined;
  return [...new Set<string>(list)];
};
