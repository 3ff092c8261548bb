import { isJsonObject } from './json.ts';

/** The list for each state. */
export const planLists = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' } as const;

const listKeys = ['critical_state', 'warning_state', 'ok_state'] as const;

const listKeyOf = (state: unknown): string | undefined =>
  Object.entries(planLists).find(([each]) => each === state)?.[1];

const isIdList = (list: unknown): list is string[] =>
  Array.isArray(list) && list.every((id: unknown) => typeof id === 'string');

const listRule = (key: string): string => `notification_plan.${key} must be a list of notification IDs`;

/** Rules without values: errors hide the recipients of this event, warnings concern other events. */
export type PlanFindings = {
  errors: string[];
  warnings: string[];
};

/** A list that is null counts as empty. @param plan undefined if it is missing */
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

/** Of a valid plan, without duplicates. */
export const listedNotifications = (plan: unknown, state: keyof typeof planLists): string[] => {
  const key = planLists[state];
  const list = isJsonObject(plan) && Object.hasOwn(plan, key) ? plan[key] : undefined;
  return isIdList(list) ? [...new Set(list)] : [];
};
