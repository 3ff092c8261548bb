import type { NotificationTypeId } from '../../../shared/contracts/notification-types.ts';
import { integer, pick, type Random } from '../engine/random.ts';
import {
  accepting,
  notificationOf,
  type Phase,
  type PlannedContact,
  type PlannedEvent,
  type PlannedNotification,
  type PlannedTenant,
  type Step,
  until,
} from './scenario.ts';
import { type SpecialTenant, tenantNamed } from './special-tenants.ts';

/*
 * Tenants that get more alerts than they want or may: all of them go to the same few recipients, in bursts, so that a run
 * with few events has summaries, and alerts above daily limits.
 */

/** The number of the first of their events. */
const FIRST_NUMBER = 5_000;
/** The numbers of the events of a tenant. */
const NUMBERS_PER_TENANT = 100;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

const happens = (probability: number, random: Random): boolean => random() < probability;

/** Returns a destination that accepts, or that fails for some time before the recovery. */
const phasesOf = (recoveryMs: number, random: Random): readonly Phase[] => {
  if (happens(0.5, random)) return accepting;
  const behavior = pick(['reject', 'reject', 'throttle', 'fail', 'accept-without-answer'] as const, random);
  const fromMs = happens(0.5, random) ? 1 : Math.round(random() * recoveryMs * 0.5);
  return [...accepting, { fromMs, behavior }, { fromMs: recoveryMs, behavior: 'accept' }];
};

/** Alerts that follow one another within seconds, or come at the same time, to all of these notifications. */
type Burst = { tenant: string; fromMs: number; firstNumber: number; notifications: readonly PlannedNotification[] };

/** With many alarms, a summary lists several; with few, several alerts of one. */
const burstOf = ({ tenant, fromMs, firstNumber, notifications }: Burst, random: Random): PlannedEvent[] => {
  const lengthMs = pick([0, 3, 20, 45], random) * SECOND_MS;
  const alarms = pick([2, 4, 8], random);
  return Array.from({ length: integer(3, 6, random) }, (_, position): PlannedEvent => {
    const atMs = fromMs + Math.round(random() * lengthMs);
    const [first, ...others] = notifications.map(({ index }) => index);
    return {
      kind: 'event',
      atMs,
      tenant,
      number: firstNumber + position,
      alarm: `al${integer(0, alarms - 1, random)}`,
      state: pick(['CRITICAL', 'WARNING', 'OK'], random),
      timeMs: atMs,
      notifications: [...(first === undefined ? [] : [first]), ...others.filter(() => happens(0.6, random))],
      repeatsAfterMs: happens(0.2, random) ? [integer(0, 3 * MINUTE_MS, random)] : [],
    };
  });
};

/** Windows of a tenant, ms since the start. */
type Windows = { startMs: number; lengthMs: number; firstNumber: number };

/** Returns the start of a window in the first half of the time before the recovery. */
const windowStartMs = (lengthMs: number, recoveryMs: number, random: Random): number =>
  Math.floor((random() * recoveryMs * 0.5) / lengthMs) * lengthMs;

/** Returns bursts in two windows that follow one another: some of them pass the end of a window. */
const burstsOf = (
  { name, notifications }: PlannedTenant,
  { startMs, lengthMs, firstNumber }: Windows,
  random: Random,
): PlannedEvent[] =>
  [0, 1].flatMap((window) => {
    const sinceMs = happens(0.3, random)
      ? lengthMs - integer(0, 4 * SECOND_MS, random)
      : integer(0, Math.round(lengthMs / 2), random);
    const fromMs = startMs + window * lengthMs + sinceMs;
    return burstOf({ tenant: name, fromMs, firstNumber: firstNumber + 10 * window, notifications }, random);
  });

/** How the destinations of a tenant with summaries answer. */
type Answers = 'any' | 'throttled at first' | 'none is reached';

const phasesOfAnswers = (
  answers: Answers,
  type: NotificationTypeId,
  at: Windows,
  recoveryMs: number,
  random: Random,
): readonly Phase[] => {
  switch (answers) {
    case 'any':
      return phasesOf(recoveryMs, random);
    case 'throttled at first': {
      const fromMs = at.startMs + 1;
      const untilMs = Math.min(recoveryMs, fromMs + at.lengthMs / 2 + integer(5, 40, random) * SECOND_MS);
      return [...accepting, { fromMs, behavior: 'throttle' }, { fromMs: untilMs, behavior: 'accept' }];
    }
    case 'none is reached':
      return [
        ...accepting,
        { fromMs: 1, behavior: type === 'webhook' ? 'fail' : 'reject' },
        { fromMs: recoveryMs, behavior: 'accept' },
      ];
  }
};

/** Returns a tenant whose emails and SMS are summarized. Its email notification may be deleted while a summary waits. */
export const summarizedOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const answers = pick(['any', 'throttled at first', 'none is reached'] as const, random);
  // A webhook counts as failing after 3 minutes: after or before the summary of the alert.
  const window_minutes = answers === 'none is reached' ? pick([1, 1, 5], random) : integer(1, 5, random);
  const lengthMs = window_minutes * MINUTE_MS;
  const windows = { startMs: windowStartMs(lengthMs, recoveryMs, random), lengthMs, firstNumber: FIRST_NUMBER };
  const types =
    answers !== 'none is reached' && happens(0.5, random)
      ? (['email', 'sms'] as const)
      : (['email', 'webhook'] as const);
  const notifications = types.map((type, position) =>
    notificationOf(firstIndex + position, type, phasesOfAnswers(answers, type, windows, recoveryMs, random)),
  );
  const tenant: PlannedTenant = {
    ...tenantNamed('summarized', 'ordinary', notifications),
    summaries: { email_after: integer(1, 3, random), sms_after: integer(1, 2, random), window_minutes },
  };
  const events = burstsOf(tenant, windows, random);
  const [email] = notifications;
  const lastMs = Math.max(...events.map(({ atMs }) => atMs));
  const deletedMs = lastMs + integer(0, lengthMs + MINUTE_MS, random);
  const steps: Step[] = events;
  return {
    tenant,
    steps:
      email && happens(0.3, random)
        ? [...steps, { kind: 'delete', atMs: deletedMs, tenant: tenant.name, notification: email.index }]
        : steps,
  };
};

/** Returns a tenant with several technical contacts, each of which accepts, rejects or delays its emails for some time. */
export const contactsOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const startMs = windowStartMs(MINUTE_MS, recoveryMs, random);
  const isMixed = happens(0.4, random);
  const contacts = Array.from({ length: integer(2, 3, random) }, (_, position): PlannedContact => {
    const behaviors = ['reject', 'throttle', 'accept-without-answer', 'fail', 'accept'] as const;
    const behavior = position < 2 && isMixed ? (behaviors[position] ?? 'accept') : pick(behaviors, random);
    const untilMs = Math.min(recoveryMs, startMs + integer(1, 5 * 60, random) * SECOND_MS);
    return { address: `contact${position}-contacts@people.test`, phases: until(untilMs, behavior) };
  });
  const notifications = [notificationOf(firstIndex, 'technicalContactsEmail')];
  const tenant = { ...tenantNamed('contacts', 'ordinary', notifications), contacts };
  return { tenant, steps: burstsOf(tenant, { startMs, lengthMs: MINUTE_MS, firstNumber: FIRST_NUMBER }, random) };
};

/** Returns two tenants that get more alerts in a day than their limits. */
export const limitedOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant[] =>
  [0, 1].map((position) => {
    const types = [pick(['email', 'technicalContactsEmail', 'sms', 'managed'] as const, random), 'webhook'] as const;
    const notifications = types.map((type, offset) =>
      notificationOf(firstIndex + 2 * position + offset, type, phasesOf(recoveryMs, random)),
    );
    const tenant: PlannedTenant = {
      ...tenantNamed(`limited${position}`, 'ordinary', notifications),
      limits: {
        emailsPerTenantPerDay: integer(1, 5, random),
        smsPerTenantPerDay: integer(1, 5, random),
        managedPerTenantPerDay: integer(1, 5, random),
      },
    };
    const firstNumber = FIRST_NUMBER + (1 + position) * NUMBERS_PER_TENANT;
    const startMs = windowStartMs(MINUTE_MS, recoveryMs, random);
    return { tenant, steps: burstsOf(tenant, { startMs, lengthMs: MINUTE_MS, firstNumber }, random) };
  });
