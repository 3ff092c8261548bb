import * as z from 'zod/mini';
import { asNumber, isJsonObject } from './json.ts';
import { boundedText, typeRule } from './text.ts';

export const alarmStates = ['OK', 'WARNING', 'CRITICAL'] as const;
export type AlarmState = (typeof alarmStates)[number];

const TENANT_ID_RULE = 'must be 1 to 128 printable ASCII characters without spaces';

/** The format of an SQS message group ID. */
export const tenantId = boundedText(
  { max: 128, type: typeRule('must be a string'), rule: TENANT_ID_RULE },
  z.regex(/^[\x21-\x7e]{1,128}$/, TENANT_ID_RULE),
);

/** The tenant of heartbeats (docs/decisions/monitoring.md#heartbeat), which nobody else can use. */
export const HEARTBEAT_TENANT = 'monitoring-notifications-heartbeat';

const id = z.string(typeRule('must be a string')).check(z.minLength(1, 'must not be empty'));

/** Only what routing needs is validated (docs/decisions/events.md#alarm-events). `checkPlan` checks the plan. */
export const alarmEvent = z.looseObject(
  {
    event_id: z
      .string(typeRule('must be a string'))
      .check(z.minLength(1, 'must not be empty'), z.maxLength(512, 'must be at most 512 characters')),
    tenant_id: tenantId,
    details: z.looseObject(
      { state: z.enum(alarmStates, `must be one of ${alarmStates.join(', ')}`) },
      typeRule('must be an object'),
    ),
    entity: z.looseObject({ id }, typeRule('must be an object')),
    alarm: z.looseObject({ id }, typeRule('must be an object')),
    previous_state: z.optional(z.unknown()),
    notification_plan: z.optional(z.unknown()),
  },
  'must be a JSON object',
);
export type AlarmEvent = z.infer<typeof alarmEvent>;

/** Parsing would return a copy without keys such as `__proto__`. */
export const isAlarmEvent = (value: unknown): value is AlarmEvent => alarmEvent.safeParse(value).success;

/** `parseJson` returns long numbers as objects, which are no objects of the event. */
const withPlainNumbers = (value: unknown): unknown =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, field]) => [key, asNumber(field)]))
    : asNumber(value);

/** Each rule has its field, and no value, so that it can be logged. */
export const brokenEventRules = (value: unknown): string[] => {
  const rules = new Map<string, string>();
  for (const { path, message } of alarmEvent.safeParse(withPlainNumbers(value)).error?.issues ?? []) {
    const field = path.join('.') || 'the event';
    // An empty list as an ID is not a string and too short: one rule per field says enough.
    if (!rules.has(field)) rules.set(field, `${field} ${message}`);
  }
  return [...rules.values()];
};

/** The body of a webhook request (docs/api.md#webhook-payload). Fields that the event lacks are null. */
export const webhookPayload = (event: AlarmEvent) => ({
  event_id: event.event_id,
  log_entry_id: event.log_entry_id ?? null,
  details: event.details,
  entity: event.entity,
  check: event.check ?? null,
  alarm: event.alarm,
  tenant_id: event.tenant_id,
});

export const planLists = { OK: 'ok_state', WARNING: 'warning_state', CRITICAL: 'critical_state' } as const;

const listKeys = ['critical_state', 'warning_state', 'ok_state'] as const;

const listKeyOf = (state: unknown): string | undefined =>
  Object.entries(planLists).find(([each]) => each === state)?.[1];

const isIdList = (list: unknown): list is string[] =>
  Array.isArray(list) && list.every((id: unknown) => typeof id === 'string');

const listRule = (key: string): string => `notification_plan.${key} must be a list of notification IDs`;

/** Rules with fields, without values: they are logged. Warnings do not prevent a delivery. */
export type EventFindings = { errors: string[]; warnings: string[] };

/** A list that is null counts as empty. @param plan undefined if it is missing */
export const checkPlan = (plan: unknown, state: unknown): EventFindings => {
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

export const listedNotifications = (plan: unknown, state: keyof typeof planLists): string[] => {
  const key = planLists[state];
  const list = isJsonObject(plan) && Object.hasOwn(plan, key) ? plan[key] : undefined;
  return isIdList(list) ? [...new Set(list)] : [];
};
