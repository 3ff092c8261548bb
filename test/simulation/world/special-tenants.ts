import { integer, pick, type Random } from '../engine/random.ts';
import { RECEIVERS_HOST } from './receivers.ts';
import {
  accepting,
  notificationOf,
  type PersonAction,
  type Phase,
  type PlannedEvent,
  type PlannedNotification,
  type PlannedTenant,
  type Step,
  until,
} from './scenario.ts';

/*
 * Tenants that only some runs have: one with more destinations than a message lists, an attacker with so many origins
 * that hang that its first attempts are moved, one whose endpoints hang at the origin of others, and those whose alerts are
 * of few incidents, are rejected, or go to a notification whose type changes.
 */

/** The numbers of the first of their events. */
const FIRST_OF_LARGE_PLAN = 3_000;
const FIRST_OF_ATTACK = 4_000;
const FIRST_OF_INCIDENTS = 6_000;
const FIRST_REJECTED = 7_000;
const FIRST_OF_RETYPED = 8_000;
const FIRST_TO_BAD_ADDRESSES = 9_000;
const FIRST_OF_OPTED_OUT = 9_500;

/** Dispatch lists up to 26 notifications of an event in each message. */
const MAX_LISTED = 26;

/** A tenant, and what happens because of it. */
export type SpecialTenant = { tenant: PlannedTenant; steps: readonly Step[] };

const webhooksFrom = (first: number, count: number, phases: readonly Phase[]): PlannedNotification[] =>
  Array.from({ length: count }, (_, position) => notificationOf(first + position, 'webhook', phases));

/** Returns a tenant with one contact. */
export const tenantNamed = (
  name: string,
  kind: PlannedTenant['kind'],
  notifications: PlannedNotification[],
): PlannedTenant => ({
  name,
  kind,
  contacts: [{ address: `contact0-${name}@people.test`, phases: accepting }],
  summaries: undefined,
  limits: {},
  notifications,
  fallback: undefined,
});

/** Returns a CRITICAL, whose alarm is that of every seventh event. */
const eventAt = (atMs: number, number: number, tenant: string, notifications: number[]): PlannedEvent => ({
  kind: 'event',
  atMs,
  tenant,
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
  const rejecting = until(recoveryMs, 'reject');
  const notifications = [
    ...webhooksFrom(firstIndex, count - 1, rejecting),
    ...webhooksFrom(firstIndex + count - 1, 1, random() < 0.5 ? accepting : rejecting),
  ];
  const tenant = tenantNamed('large', 'ordinary', notifications);
  const events = Array.from({ length: integer(1, 2, random) }, (_, position) => {
    const omitted = integer(0, 2, random);
    const indexes = tenant.notifications.slice(omitted).map(({ index }) => index);
    return eventAt(Math.round(random() * recoveryMs * 0.8), FIRST_OF_LARGE_PLAN + position, tenant.name, indexes);
  });
  return { tenant, steps: events };
};

/** Returns a tenant most of whose emails bounce or are reported as spam, and which goes on for hours. */
export const badAddressesOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const notifications = (['email', 'email', 'webhook'] as const).map((type, position) =>
    notificationOf(firstIndex + position, type),
  );
  const tenant: PlannedTenant = {
    ...tenantNamed('badaddresses', 'ordinary', notifications),
    fallback: notificationOf(firstIndex + notifications.length, 'sms'),
    emailReports: 0.3 + random() * 0.7,
  };
  const events = Array.from({ length: integer(8, 20, random) }, (_, position) => {
    const chosen = pick([[firstIndex], [firstIndex + 1], [firstIndex, firstIndex + 2]], random);
    const atMs = Math.round(random() * recoveryMs);
    return { ...eventAt(atMs, FIRST_TO_BAD_ADDRESSES + position, tenant.name, chosen), alarm: `bad${position}` };
  });
  return { tenant, steps: events };
};

/** Returns a tenant with emails, whose recipients stop and resume them. They may have one mailbox. */
export const optedOutOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const indexes = [firstIndex, firstIndex + 1];
  const isShared = random() < 0.4;
  const notifications = indexes.map((index) => ({
    ...notificationOf(index, 'email'),
    ...(index > firstIndex && isShared && { mailbox: `d${firstIndex}` }),
  }));
  const { name, ...rest } = tenantNamed('opted', 'ordinary', notifications);
  const events = Array.from({ length: integer(4, 8, random) }, (_, position) =>
    eventAt(
      Math.round(random() * recoveryMs),
      FIRST_OF_OPTED_OUT + position,
      name,
      indexes.slice(integer(0, 1, random)),
    ),
  );
  const actions = Array.from(
    { length: integer(2, 5, random) },
    (): PersonAction => ({
      kind: random() < 0.6 ? 'opt-out' : 'undo-opt-out',
      atMs: Math.round(random() * recoveryMs),
      tenant: name,
      to: `d${pick(indexes, random)}`,
    }),
  );
  return { tenant: { name, ...rest }, steps: [...events, ...actions] };
};

/**
 * Returns a tenant whose events are of two incidents, in short succession: some have the same time, some are accepted in
 * another order than they have, and their destinations fail for some time.
 */
export const incidentsOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const failingMs = Math.round(random() * Math.min(recoveryMs, 180_000));
  const notifications = (['incidentpager', 'incidentrouter'] as const).map((type, position) => {
    const behavior = pick(['accept', 'fail', 'throttle', 'accept-without-answer', 'accept-slowly'] as const, random);
    return notificationOf(firstIndex + position, type, until(Math.max(1, failingMs), behavior));
  });
  const tenant = tenantNamed('incidents', 'ordinary', notifications);
  const startMs = Math.round(random() * recoveryMs * 0.5);
  const lengthMs = pick([0, 10, 5_000, 60_000], random);
  const events = Array.from({ length: integer(4, 9, random) }, (_, position): PlannedEvent => {
    const atMs = startMs + Math.round(random() * lengthMs);
    const alarm = `al${integer(0, 1, random)}`;
    const state = pick(['OK', 'WARNING', 'CRITICAL'] as const, random);
    const chosen = notifications.filter(() => random() < 0.8).map(({ index }) => index);
    return {
      ...eventAt(atMs, FIRST_OF_INCIDENTS + position, tenant.name, chosen.length > 0 ? chosen : [firstIndex]),
      alarm,
      state,
      timeMs: atMs - pick([0, 0, 1, 1_000], random),
    };
  });
  return { tenant, steps: [...events, ...lateEvents(tenant, events, random)] };
};

/** Returns events that are older than the newest of their incidents, and come when the results of these must be known. */
const lateEvents = (tenant: PlannedTenant, events: readonly PlannedEvent[], random: Random): PlannedEvent[] => {
  if (random() < 0.3) return [];
  const indexes = tenant.notifications.map(({ index }) => index);
  const lastMs = Math.max(...events.map(({ atMs }) => atMs));
  const atMs = lastMs + integer(12, 20, random) * 60_000;
  return [...Map.groupBy(events, ({ alarm }) => alarm)].map(([alarm, ofAlarm], position) => ({
    ...eventAt(atMs, FIRST_OF_INCIDENTS + 20 + position, tenant.name, indexes),
    alarm,
    timeMs: Math.max(...ofAlarm.map(({ timeMs }) => timeMs)) - 1,
  }));
};

/** Returns a tenant whose destinations reject alerts for some time. Somebody redelivers these again and again. */
export const rejectedOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const startMs = Math.round(random() * recoveryMs * 0.5);
  const acceptsMs = Math.min(recoveryMs, startMs + integer(60, 300, random) * 1_000);
  const types = ['webhook', pick(['email', 'incidentrouter', 'managed', 'sms'] as const, random)] as const;
  const notifications = types.map((type, position) =>
    notificationOf(firstIndex + position, type, until(acceptsMs, 'reject')),
  );
  const tenant = tenantNamed('rejected', 'ordinary', notifications);
  const events = Array.from({ length: integer(3, 6, random) }, (_, position): PlannedEvent => {
    const chosen = notifications.filter(() => random() < 0.7).map(({ index }) => index);
    const atMs = startMs + integer(0, 60_000, random);
    return eventAt(atMs, FIRST_REJECTED + position, tenant.name, chosen.length > 0 ? chosen : [firstIndex]);
  });
  const actions = Array.from({ length: integer(2, 5, random) }, (): PersonAction => {
    const atMs = Math.min(recoveryMs, startMs + integer(30, 400, random) * 1_000);
    return { kind: 'redeliver', atMs, tenant: tenant.name, notification: pick(notifications, random).index };
  });
  return { tenant, steps: [...events, ...actions] };
};

/** Returns a tenant whose feed fails or rejects alerts until it becomes a webhook, or later. */
export const retypedOf = (firstIndex: number, recoveryMs: number, random: Random): SpecialTenant => {
  const startMs = Math.round(random() * recoveryMs * 0.5);
  const retypedMs = startMs + integer(0, 120_000, random);
  const behavior = pick(['accept', 'fail', 'fail', 'reject'] as const, random);
  const acceptsMs = Math.min(recoveryMs, retypedMs + integer(0, 60_000, random)) + 1;
  const tenant = tenantNamed('retyped', 'ordinary', [
    notificationOf(firstIndex, 'atomfeed', until(acceptsMs, behavior)),
  ]);
  const events = Array.from({ length: integer(3, 6, random) }, (_, position): PlannedEvent => {
    const atMs = startMs + integer(0, 180_000, random);
    return eventAt(atMs, FIRST_OF_RETYPED + position, tenant.name, [firstIndex]);
  });
  return {
    tenant,
    steps: [...events, { kind: 'retype', atMs: retypedMs, tenant: tenant.name, notification: firstIndex }],
  };
};

/** Events of an attacker to all of its endpoints. */
type Attack = { startMs: number; attacks: number; intervalMs: number };

/** Returns the events of an attacker, and as many of a quiet tenant at the same time. */
const attackedBy = (
  { name, notifications }: PlannedTenant,
  quiet: PlannedTenant | undefined,
  { startMs, attacks, intervalMs }: Attack,
  random: Random,
): PlannedEvent[] =>
  Array.from({ length: attacks }, (_, position) => {
    const atMs = startMs + position * intervalMs;
    const all = (each: readonly PlannedNotification[]) => each.map(({ index }) => index);
    const attack = eventAt(atMs, FIRST_OF_ATTACK + position, name, all(notifications));
    if (!quiet) return [attack];
    const number = FIRST_OF_ATTACK + attacks + position;
    const otherMs = atMs + Math.round(random() * intervalMs);
    return [attack, eventAt(otherMs, number, quiet.name, all(quiet.notifications))];
  }).flat();

/** Returns an attacker whose endpoints hang until its last event, each at an origin of its own, and the events of it and of a quiet tenant. */
export const hangingOf = (
  firstIndex: number,
  quiet: PlannedTenant | undefined,
  { endpoints, ...attack }: Attack & { endpoints: number },
  random: Random = () => 0.5,
  maxMs = Number.POSITIVE_INFINITY,
): SpecialTenant => {
  const endMs = Math.min(maxMs, attack.startMs + attack.attacks * attack.intervalMs);
  const tenant = tenantNamed('attacker', 'attacker', webhooksFrom(firstIndex, endpoints, until(endMs, 'hang')));
  return { tenant, steps: attackedBy(tenant, quiet, attack, random) };
};

/** Returns one that occupies 25 execution environments, each with ten sends of 15 s, unless slow tenants wait. */
export const attackOf = (
  firstIndex: number,
  quiet: PlannedTenant | undefined,
  recoveryMs: number,
  random: Random,
): SpecialTenant => {
  const startMs = Math.round(random() * 30_000);
  const attack = { endpoints: 150, startMs, attacks: 12, intervalMs: 8_000 };
  return hangingOf(firstIndex, quiet, attack, random, recoveryMs);
};

/** Returns an attacker with many emails at once, and the events of it and of a quiet tenant. */
export const mailerOf = (
  firstIndex: number,
  quiet: PlannedTenant,
  { emails, startMs }: { emails: number; startMs: number },
): SpecialTenant => {
  const tenant = tenantNamed('mailer', 'attacker', [notificationOf(firstIndex, 'email')]);
  const attacks = Array.from({ length: emails }, (_, position) =>
    eventAt(startMs, FIRST_OF_ATTACK + position, tenant.name, [firstIndex]),
  );
  const others = Array.from({ length: 12 }, (_, position) =>
    eventAt(
      startMs + 830 * position,
      FIRST_OF_ATTACK + emails + position,
      quiet.name,
      quiet.notifications.map(({ index }) => index),
    ),
  );
  return { tenant, steps: [...attacks, ...others] };
};

/** Returns an attacker whose webhook answers as given, whose alerts are sent at once, and the events of it and of a quiet tenant. */
export const stormOf = (
  firstIndex: number,
  quiet: PlannedTenant,
  { alerts, startMs, phases }: { alerts: number; startMs: number; phases: readonly Phase[] },
): SpecialTenant => {
  const tenant = tenantNamed('storm', 'attacker', webhooksFrom(firstIndex, 1, phases));
  const event = (position: number, atMs: number, { name, notifications }: PlannedTenant): PlannedEvent => {
    const indexes = notifications.map(({ index }) => index);
    return { ...eventAt(atMs, FIRST_OF_ATTACK + position, name, indexes), alarm: `storm${position}` };
  };
  return {
    tenant,
    steps: [
      ...Array.from({ length: alerts }, (_, position) => event(position, startMs, tenant)),
      ...Array.from({ length: 6 }, (_, position) => event(alerts + position, startMs + 5_000 * position, quiet)),
    ],
  };
};

/** Returns an attacker whose endpoints hang for a minute at the origin of all others, and the events of it and of a quiet tenant. */
export const neighborOf = (firstIndex: number, quiet: PlannedTenant | undefined, random: Random): SpecialTenant => {
  const startMs = Math.round(random() * 30_000);
  const hanging = webhooksFrom(firstIndex, 3, until(startMs + 60_000, 'hang'));
  const webhooks = hanging.map((each) => ({ ...each, host: RECEIVERS_HOST }));
  const tenant = tenantNamed('neighbor', 'attacker', webhooks);
  return { tenant, steps: attackedBy(tenant, quiet, { startMs, attacks: 8, intervalMs: 5_000 }, random) };
};
