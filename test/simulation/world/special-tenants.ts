import { integer, type Random } from '../engine/random.ts';
import type { Phase, PlannedEvent, PlannedNotification, PlannedTenant } from './scenario.ts';

/*
 * Tenants that only few runs have, because they are expensive: one with more destinations than a message lists, and an
 * attacker with so many origins that hang that its first attempts are moved.
 */

/** The numbers of the first of their events. */
const FIRST_OF_LARGE_PLAN = 3_000;
const FIRST_OF_ATTACK = 4_000;

/** Dispatch lists up to 26 notifications of an event in each message. */
const MAX_LISTED = 26;

/** A tenant with its events. */
export type SpecialTenant = { tenant: PlannedTenant; events: readonly PlannedEvent[] };

const webhooksFrom = (first: number, count: number, phases: readonly Phase[]): PlannedNotification[] =>
  Array.from({ length: count }, (_, position) => {
    const index = first + position;
    return { index, key: `d${index}`, type: 'webhook', phases };
  });

const tenantOf = (name: string, kind: PlannedTenant['kind'], notifications: PlannedNotification[]): PlannedTenant => ({
  name,
  kind,
  contacts: [{ address: `contact0-${name}@people.test`, phases: [{ fromMs: 0, behavior: 'accept' }] }],
  summaries: undefined,
  limits: {},
  notifications,
  fallback: undefined,
});

const eventAt = (atMs: number, number: number, tenant: PlannedTenant, notifications: number[]): PlannedEvent => ({
  kind: 'event',
  atMs,
  tenant: tenant.name,
  number,
  alarm: `al${number % 7}`,
  state: 'CRITICAL',
  timeMs: atMs,
  notifications,
  repeatsAfterMs: [],
});

/** Returns a tenant whose events have about as many destinations as a message lists. All, or all but one, reject them. */
export const largePlanOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const count = MAX_LISTED + integer(0, 4, random);
  const rejecting: Phase[] = [
    { fromMs: 0, behavior: 'reject' },
    { fromMs: recoveryMs, behavior: 'accept' },
  ];
  const accepting: Phase[] = [{ fromMs: 0, behavior: 'accept' }];
  const notifications = [
    ...webhooksFrom(firstIndex, count - 1, rejecting),
    ...webhooksFrom(firstIndex + count - 1, 1, random() < 0.5 ? accepting : rejecting),
  ];
  const tenant = tenantOf('large', 'ordinary', notifications);
  const events = Array.from({ length: integer(1, 2, random) }, (_, position) => {
    const omitted = integer(0, 2, random);
    const indexes = tenant.notifications.slice(omitted).map(({ index }) => index);
    return eventAt(Math.round(random() * recoveryMs * 0.8), FIRST_OF_LARGE_PLAN + position, tenant, indexes);
  });
  return { tenant, events };
};

/** How often, and how many ms apart, the attacker sends an event to all of its endpoints. */
const ATTACKS = 12;
const ATTACK_INTERVAL_MS = 15_000;

/** Returns an attacker that lets alerts to many origins hang for three minutes, and the events of it and of a quiet tenant. */
export const attackOf = (
  firstIndex: number,
  quiet: PlannedTenant | undefined,
  recoveryMs: number,
  random: Random,
): SpecialTenant => {
  const startMs = Math.round(random() * 30_000);
  const endMs = Math.min(recoveryMs, startMs + ATTACKS * ATTACK_INTERVAL_MS);
  const hanging: Phase[] = [
    { fromMs: 0, behavior: 'hang' },
    { fromMs: endMs, behavior: 'accept' },
  ];
  const tenant = tenantOf('attacker', 'attacker', webhooksFrom(firstIndex, 40, hanging));
  const indexes = tenant.notifications.map(({ index }) => index);
  const attacks = Array.from({ length: ATTACKS }, (_, position) =>
    eventAt(startMs + position * ATTACK_INTERVAL_MS, FIRST_OF_ATTACK + position, tenant, indexes),
  );
  const others = quiet
    ? Array.from({ length: ATTACKS }, (_, position) => {
        const atMs = startMs + Math.round((position + random()) * ATTACK_INTERVAL_MS);
        const own = quiet.notifications.map(({ index }) => index);
        return eventAt(atMs, FIRST_OF_ATTACK + ATTACKS + position, quiet, own);
      })
    : [];
  return { tenant, events: [...attacks, ...others] };
};
