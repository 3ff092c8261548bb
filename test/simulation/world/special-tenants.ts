import type { NotificationTypeId } from '../../../shared/contracts/notification-types.ts';
import { integer, pick, type Random } from '../engine/random.ts';
import { RECEIVERS_HOST } from './receivers.ts';
import {
  accepting,
  notificationOf,
  type PersonAction,
  type Phase,
  type PlannedContact,
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
    const alarm = `al${integer(0, alarms - 1, random)}`;
    const state = pick(['CRITICAL', 'WARNING', 'OK'] as const, random);
    const indexes = notifications.map(({ index }) => index);
    const chosen = [...indexes.slice(0, 1), ...indexes.slice(1).filter(() => happens(0.6, random))];
    const repeatsAfterMs = happens(0.2, random) ? [integer(0, 3 * MINUTE_MS, random)] : [];
    return { ...eventAt(atMs, firstNumber + position, tenant, chosen), alarm, state, repeatsAfterMs };
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
