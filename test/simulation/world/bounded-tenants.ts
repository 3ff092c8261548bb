import { integer, pick, type Random } from '../engine/random.ts';
import type { Phase, PlannedEvent, PlannedNotification, PlannedTenant, Step } from './scenario.ts';
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

/** Returns whether something with this probability happens. */
const happens = (probability: number, random: Random): boolean => random() < probability;

/** Returns a destination that accepts, or that fails for some time before the recovery. */
const phasesOf = (recoveryMs: number, random: Random): Phase[] => {
  const accepting: Phase = { fromMs: 0, behavior: 'accept' };
  if (happens(0.5, random)) return [accepting];
  const behavior = pick(['reject', 'reject', 'throttle', 'fail', 'accept-without-answer'] as const, random);
  const fromMs = happens(0.5, random) ? 1 : Math.round(random() * recoveryMs * 0.5);
  return [accepting, { fromMs, behavior }, { fromMs: recoveryMs, behavior: 'accept' }];
};

/** Alerts that follow one another within seconds, or come at the same time, to all of these notifications. */
type Burst = { tenant: string; fromMs: number; firstNumber: number; notifications: readonly PlannedNotification[] };

const burstOf = ({ tenant, fromMs, firstNumber, notifications }: Burst, random: Random): PlannedEvent[] => {
  const lengthMs = pick([0, 3, 20, 45], random) * SECOND_MS;
  return Array.from({ length: integer(3, 6, random) }, (_, position): PlannedEvent => {
    const atMs = fromMs + Math.round(random() * lengthMs);
    const [first, ...others] = notifications.map(({ index }) => index);
    return {
      kind: 'event',
      atMs,
      tenant,
      number: firstNumber + position,
      alarm: `al${integer(0, 3, random)}`,
      state: pick(['CRITICAL', 'WARNING', 'OK'], random),
      timeMs: atMs,
      notifications: [...(first === undefined ? [] : [first]), ...others.filter(() => happens(0.6, random))],
      repeatsAfterMs: happens(0.2, random) ? [integer(0, 3 * MINUTE_MS, random)] : [],
    };
  });
};

/** Returns bursts in two windows that follow one another, across the end of one, or apart. */
const burstsOf = (
  tenant: PlannedTenant,
  windowMs: number,
  { firstNumber, recoveryMs }: { firstNumber: number; recoveryMs: number },
  random: Random,
): PlannedEvent[] => {
  const startMs = Math.floor((random() * recoveryMs * 0.5) / windowMs) * windowMs;
  return [0, 1].flatMap((window) => {
    const fromMs = startMs + window * windowMs + integer(0, Math.round(windowMs / 2), random);
    const burst = { tenant: tenant.name, fromMs, firstNumber: firstNumber + 10 * window };
    return burstOf({ ...burst, notifications: tenant.notifications }, random);
  });
};

/** Returns a tenant whose emails and SMS are summarized. Its email notification may be deleted while a summary waits. */
export const summarizedOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const types = happens(0.5, random) ? (['email', 'sms'] as const) : (['email', 'webhook'] as const);
  const notifications = types.map((type, position): PlannedNotification => {
    const index = firstIndex + position;
    return { index, key: `d${index}`, type, phases: phasesOf(recoveryMs, random) };
  });
  const window_minutes = integer(1, 3, random);
  const tenant: PlannedTenant = {
    ...tenantNamed('summarized', 'ordinary', notifications),
    summaries: { email_after: integer(1, 3, random), sms_after: integer(1, 2, random), window_minutes },
  };
  const windowMs = window_minutes * MINUTE_MS;
  const events = burstsOf(tenant, windowMs, { firstNumber: FIRST_NUMBER, recoveryMs }, random);
  const [email] = notifications;
  const lastMs = Math.max(...events.map(({ atMs }) => atMs));
  const deletedMs = lastMs + integer(0, windowMs + MINUTE_MS, random);
  const steps: Step[] = events;
  return {
    tenant,
    steps:
      email && happens(0.3, random)
        ? [...steps, { kind: 'delete', atMs: deletedMs, tenant: tenant.name, notification: email.index }]
        : steps,
  };
};

/** Returns two tenants that get more alerts in a day than their limits. */
export const limitedOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant[] =>
  [0, 1].map((position) => {
    const types = [pick(['email', 'technicalContactsEmail', 'sms', 'managed'] as const, random), 'webhook'] as const;
    const notifications = types.map((type, offset): PlannedNotification => {
      const index = firstIndex + 2 * position + offset;
      return { index, key: `d${index}`, type, phases: phasesOf(recoveryMs, random) };
    });
    const tenant: PlannedTenant = {
      ...tenantNamed(`limited${position}`, 'ordinary', notifications),
      limits: {
        emailsPerTenantPerDay: integer(1, 5, random),
        smsPerTenantPerDay: integer(1, 5, random),
        managedPerTenantPerDay: integer(1, 5, random),
      },
    };
    const firstNumber = FIRST_NUMBER + (1 + position) * NUMBERS_PER_TENANT;
    return { tenant, steps: burstsOf(tenant, MINUTE_MS, { firstNumber, recoveryMs }, random) };
  });
