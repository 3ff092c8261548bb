import { integer, pick, type Random } from '../engine/random.ts';
import { isInOrder, type PlannedEvent, type PlannedTenant, type State, type Step } from './scenario.ts';

/** The number of the first twin. */
const FIRST_TWIN = 2_000;

const HOUR_MS = 3_600_000;

const isOrdered = (tenants: readonly PlannedTenant[], { tenant, notifications }: PlannedEvent): boolean =>
  tenants.some(
    (each) =>
      each.name === tenant &&
      each.notifications.some((notification) => notifications.includes(notification.index) && isInOrder(notification)),
  );

/** Returns events of the same incidents as others, which SQS accepts at the same time, or 1 ms earlier or later. */
export const twinsOf = (events: readonly PlannedEvent[], tenants: readonly PlannedTenant[], random: Random) => {
  const ordered = events.filter((event) => isOrdered(tenants, event));
  if (ordered.length === 0 || random() < 0.4) return [];
  return Array.from({ length: integer(1, 3, random) }, (_, index): PlannedEvent => {
    const { alteredAfterMs: _altered, ...other } = pick(ordered, random);
    const state: State = pick(['CRITICAL', 'WARNING', 'OK'], random);
    const timeMs = other.timeMs + pick([0, 0, 0, -1, 1], random);
    const atMs = other.atMs + pick([0, 0, -1, 1], random);
    return { ...other, number: FIRST_TWIN + index, state, timeMs, atMs: Math.max(0, atMs), repeatsAfterMs: [] };
  });
};

/** Returns events, some of which are sent again after hours. */
export const withLateRepeats = (events: readonly PlannedEvent[], random: Random): PlannedEvent[] => {
  if (random() < 0.8) return [...events];
  return events.map((event) =>
    random() < 0.3 ? { ...event, repeatsAfterMs: [...event.repeatsAfterMs, integer(1, 8, random) * HOUR_MS] } : event,
  );
};

/** Returns steps in which no event of some alarms tells its time, so that the order of these is that of SQS. */
export const withoutTimes = (steps: readonly Step[], random: Random): Step[] => {
  const events = steps.filter((step) => step.kind === 'event');
  const alarmOf = ({ tenant, alarm }: PlannedEvent): string => `${tenant} ${alarm}`;
  const untimed = new Set([...new Set(events.map(alarmOf))].sort().filter(() => random() < 0.1));
  return steps.map((step) =>
    step.kind === 'event' && untimed.has(alarmOf(step)) ? { ...step, timeMs: step.atMs, hasNoTime: true } : step,
  );
};
