import { isJsonObject } from './json.ts';

/** The key of the list of notifications for each state in a notification plan. */
export const planLists = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' } as const;

const listKeys = ['critical_state', 'warning_state', 'ok_state'] as const;

/** Returns the key of the list for a state, or undefined if there is no such state. */
const listKeyOf = (state: unknown): string | undefined =>
  Object.entries(planLists).find(([each]) => each === state)?.[1];

const isIdList = (list: unknown): list is string[] =>
  Array.isArray(list) && list.every((id: unknown) => typeof id === 'string');

const listRule = (key: string): string => `notification_plan.${key} must be a list of notification IDs`;

/** The rules that the notification plan of an event breaks. They never contain a value. */
export type PlanFindings = {
  /** Rules without which the recipients of this event are not known. */
  errors: string[];
  /** Rules that matter for other events with this plan. */
  warnings: string[];
};

/**
 * Checks the notification plan of an event in this state. A list that is null counts as empty.
 *
 * @param plan the value of `notification_plan`, undefined if it is missing
 */
export const checkPlan = (plan: unknown, state: unknown): PlanFindings => {
  if (plan === undefined) return { errors: ['notification_plan is required'], warnings: [] };
  if (!isJsonObject(plan)) return { errors: ['notification_plan must be an object'], warnings: [] };
  const present = listKeys.filter((key) => Object.hasOwn(plan, key));
  const malformed = present.filter((key) => plan[key] !== null && !isIdList(plan[key]));
  const ownKey = listKeyOf(state);
  const hasUnknownList = Object.entries(plan).some(
    ([key, value]) => Array.isArray(value) && !listKeys.some((known) => known === key),
  );
  return {
    errors: [
      ...(present.length === 0 ? [`notification_plan must have at least one of ${listKeys.join(', ')}`] : []),
      ...malformed.filter((key) => key === ownKey).map(listRule),
    ],
    warnings: [
      ...malformed.filter((key) => key !== ownKey).map(listRule),
      ...(hasUnknownList ? [`notification_plan must have no lists other than ${listKeys.join(', ')}`] : []),
    ],
  };
};

/** Returns the IDs that a valid plan lists for a state, without duplicates and in its order. */
export const listedNotifications = (plan: unknown, state: keyof typeof planLists): string[] => {
  const key = planLists[state];
  const list = isJsonObject(plan) && Object.hasOwn(plan, key) ? plan[key] : undefined;
  return isIdList(list) ? [...new Set(list)] : [];
};
