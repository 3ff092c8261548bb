import { type NotificationTypeId, notificationTypeIds } from '../../../shared/contracts/notification-types.ts';
import { escalationModes } from '../../../shared/contracts/outcomes.ts';
import { integer, pick, type Random, randomOf } from '../engine/random.ts';
import { accountActionsOf, recipientActionsOf, withUnwantedEmails } from './email-recipients.ts';
import { limitChangesOf, operationsOf, privateWebhooksOf, unusualEventsOf } from './operations.ts';
import {
  accepting,
  type Behavior,
  type InvalidEvent,
  isSentByAws,
  notificationOf,
  notificationsOf,
  type OccupyingEvent,
  type PersonAction,
  type Phase,
  type PlannedEvent,
  type PlannedNotification,
  type PlannedTenant,
  type Scenario,
  type Step,
  type Summaries,
} from './scenario.ts';
import { addedRatesOf, frequentFaultOf, outageOf, ratesOf, streamFaultsOf } from './seeded-faults.ts';
import {
  attackOf,
  badAddressesOf,
  contactsOf,
  incidentsOf,
  largePlanOf,
  limitedOf,
  neighborOf,
  optedOutOf,
  rejectedOf,
  retypedOf,
  type SpecialTenant,
  summarizedOf,
} from './special-tenants.ts';
import { twinsOf, withLateRepeats, withoutTimes } from './twins.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const BEHAVIORS: Record<'http' | 'aws', readonly Behavior[]> = {
  http: [
    'accept-slowly',
    'accept-without-answer',
    'accept-and-close',
    'fail',
    'hang',
    'close',
    'throttle',
    'reject',
    'redirect',
  ],
  aws: ['accept-without-answer', 'fail', 'throttle', 'reject'],
};

const phasesOf = (
  type: NotificationTypeId,
  kind: PlannedTenant['kind'],
  recoveryMs: number,
  random: Random,
): Phase[] => {
  const phases: Phase[] = [{ fromMs: 0, behavior: kind === 'attacker' && !isSentByAws(type) ? 'hang' : 'accept' }];
  if (kind === 'ordinary' && random() < 0.6) {
    const behaviors = BEHAVIORS[isSentByAws(type) ? 'aws' : 'http'];
    for (let atMs = random() * recoveryMs; atMs < recoveryMs; atMs += (0.05 + random() * 0.4) * recoveryMs)
      phases.push({ fromMs: atMs, behavior: random() < 0.3 ? 'accept' : pick(behaviors, random) });
  }
  // The last of the nine attempts follows 7 h 42 min after the first.
  const isDownForHours = kind === 'ordinary' && !isSentByAws(type) && random() < 0.15;
  if (!isDownForHours) return [...phases, { fromMs: recoveryMs, behavior: 'accept' }];
  return [
    { fromMs: 0, behavior: pick(['fail', 'close', 'throttle'], random) },
    { fromMs: recoveryMs + integer(1, 9, random) * HOUR_MS, behavior: 'accept' },
  ];
};

const summariesOf = (random: Random): Summaries => ({
  email_after: integer(1, 4, random),
  sms_after: integer(1, 3, random),
  window_minutes: integer(1, 10, random),
});

const tenantOf = (index: number, nextIndex: () => number, recoveryMs: number, random: Random): PlannedTenant => {
  const kind = index === 0 ? 'quiet' : random() < 0.25 ? 'attacker' : 'ordinary';
  const name = `t${index}`;
  const notification = (type: NotificationTypeId): PlannedNotification =>
    notificationOf(nextIndex(), type, phasesOf(type, kind, recoveryMs, random));
  const types =
    kind === 'quiet'
      ? (['webhook', 'email'] as const)
      : Array.from({ length: 3 }, () => pick(notificationTypeIds, random));
  const notifications = Array.from({ length: kind === 'quiet' ? 2 : integer(3, 8, random) }, (_, position) =>
    notification(kind === 'quiet' ? (types[position] ?? 'webhook') : pick(types, random)),
  );
  const contactCount = random() < 0.1 ? 0 : kind === 'ordinary' ? integer(1, 2, random) : 1;
  const fallbackTypes = ['sms', 'webhook', 'incidentpager', 'email'] as const;
  return {
    name,
    kind,
    contacts: Array.from({ length: contactCount }, (_, position) => ({
      address: `contact${position}-${name}@people.test`,
      phases: phasesOf('technicalContactsEmail', kind, recoveryMs, random),
    })),
    summaries: kind === 'ordinary' && random() < 0.5 ? summariesOf(random) : undefined,
    limits:
      kind === 'ordinary' && random() < 0.3
        ? { emailsPerTenantPerDay: integer(2, 10, random), smsPerTenantPerDay: integer(1, 6, random) }
        : {},
    notifications,
    fallback:
      kind !== 'quiet' && random() < 0.6
        ? { ...notification(pick(fallbackTypes, random)), phases: accepting }
        : undefined,
  };
};

/** Some webhooks of ordinary tenants have an option. */
const withWebhooks = (
  tenant: PlannedTenant,
  option: Pick<PlannedNotification, 'isOrdered' | 'hasOwnBody'>,
  rate: number,
  random: Random,
): PlannedTenant => ({
  ...tenant,
  notifications: tenant.notifications.map((each) =>
    tenant.kind === 'ordinary' && each.type === 'webhook' && random() < rate ? { ...each, ...option } : each,
  ),
});

const STATES = ['CRITICAL', 'WARNING', 'OK'] as const;

/** Many events of one tenant in a short time. */
type Storm = { tenant: PlannedTenant; fromMs: number; lengthMs: number };

/** A storm on a tenant with summaries passes the end of a window: a run starts at a full hour. */
const stormOf = (tenants: readonly PlannedTenant[], recoveryMs: number, random: Random): Storm => {
  const tenant = pick(tenants, random);
  const lengthMs = pick([1, 5, 60, 300], random) * SECOND_MS;
  const atMs = Math.round(random() * recoveryMs);
  const windowMs = (tenant.summaries?.window_minutes ?? 0) * MINUTE_MS;
  const fromMs = windowMs > 0 ? Math.max(0, atMs - (atMs % windowMs) - Math.round(lengthMs / 2)) : atMs;
  return { tenant, fromMs, lengthMs };
};

/** Repeats follow while an attempt is made, or later. */
const repeatOf = (random: Random): number =>
  random() < 0.5 ? integer(0, 15 * SECOND_MS, random) : integer(0, 3 * MINUTE_MS, random);

const eventOf = (
  number: number,
  tenants: readonly PlannedTenant[],
  storms: readonly Storm[],
  recoveryMs: number,
  random: Random,
): PlannedEvent => {
  const storm = random() < 0.5 ? pick(storms, random) : undefined;
  const tenant = storm?.tenant ?? pick(tenants, random);
  const stormMs = storm ? storm.fromMs + Math.round(random() * storm.lengthMs) : recoveryMs;
  const atMs = Math.min(storm ? stormMs : Math.round(random() * recoveryMs), recoveryMs);
  const count = integer(1, Math.min(4, tenant.notifications.length), random);
  const chosen = new Set(Array.from({ length: count }, () => pick(tenant.notifications, random).index));
  const isOnlyWebhooks = [...chosen].every((index) =>
    tenant.notifications.some((each) => each.index === index && each.type === 'webhook'),
  );
  const repeats = random() < 0.15 ? integer(1, 2, random) : 0;
  return {
    kind: 'event',
    atMs,
    tenant: tenant.name,
    number,
    alarm: `al${integer(0, 3, random)}`,
    state: pick(STATES, random),
    timeMs: atMs - integer(0, 2_000, random),
    notifications: [...chosen],
    repeatsAfterMs: Array.from({ length: repeats }, () => repeatOf(random)),
    ...(isOnlyWebhooks && random() < 0.3 && { alteredAfterMs: integer(1_000, 3 * MINUTE_MS, random) }),
  };
};

const movedTo = (event: PlannedEvent, atMs: number): PlannedEvent => ({
  ...event,
  atMs,
  timeMs: atMs + event.timeMs - event.atMs,
});

/** An attacker sends an event at the same time as another tenant, and lists the notifications of that. */
const withForeignNotifications = (events: readonly PlannedEvent[], attackers: ReadonlySet<string>, random: Random) =>
  events.map((event) => {
    const victim = pick(events, random);
    return attackers.has(event.tenant) && random() < 0.4 && victim.tenant !== event.tenant
      ? {
          ...movedTo(event, victim.atMs),
          notifications: [...new Set([...event.notifications, ...victim.notifications])],
        }
      : event;
  });

/** Some events of quiet tenants follow a storm, whose destinations may hang. */
const withQuietEvents = (
  events: readonly PlannedEvent[],
  quiet: ReadonlySet<string>,
  storms: readonly Storm[],
  recoveryMs: number,
  random: Random,
) =>
  events.map((event) => {
    if (!quiet.has(event.tenant) || random() < 0.5) return event;
    const atMs = Math.min(pick(storms, random).fromMs + integer(0, 35, random) * SECOND_MS, recoveryMs);
    return movedTo(event, atMs);
  });

const ACTIONS = [
  'delete',
  'relabel',
  'redeliver',
  'retry-now',
  'summaries',
  'rotate',
  'test',
  'token',
  'revoke',
] as const;

const actionOf = (tenants: readonly PlannedTenant[], recoveryMs: number, random: Random): PersonAction => {
  const tenant = pick(tenants, random);
  const kind = pick(ACTIONS, random);
  const atMs = Math.round(random() * recoveryMs * 1.2);
  const notification = pick(tenant.notifications, random).index;
  if (kind === 'summaries')
    return { kind, atMs, tenant: tenant.name, summaries: random() < 0.3 ? undefined : summariesOf(random) };
  if (kind === 'rotate' || kind === 'token' || kind === 'revoke') return { kind, atMs, tenant: tenant.name };
  return { kind, atMs, tenant: tenant.name, notification };
};

/** Returns further actions: webhooks move, notifications are created, and some are deleted while a summary waits. */
const moreActionsOf = (
  tenants: readonly PlannedTenant[],
  storms: readonly Storm[],
  recoveryMs: number,
  random: Random,
): PersonAction[] => {
  const anyTime = (): number => Math.round(random() * recoveryMs);
  const reroutes = tenants.flatMap(({ name, notifications }) =>
    notifications
      .filter(({ type }) => type === 'webhook')
      .filter(() => random() < 0.3)
      .map(({ index }): PersonAction => ({ kind: 'reroute', atMs: anyTime(), tenant: name, notification: index })),
  );
  const created = tenants
    .filter(() => random() < 0.3)
    .map(({ name }): PersonAction => ({ kind: 'create', atMs: anyTime(), tenant: name }));
  const deleted = storms
    .filter(({ tenant }) => tenant.summaries !== undefined && random() < 0.3)
    .flatMap(({ tenant, fromMs, lengthMs }) =>
      tenant.notifications
        .filter(({ type }) => type === 'email' || type === 'sms')
        .slice(0, 1)
        .map(({ index }): PersonAction => {
          const atMs = fromMs + lengthMs + integer(0, 60 * SECOND_MS, random);
          return { kind: 'delete', atMs, tenant: tenant.name, notification: index };
        }),
    );
  return [...reroutes, ...created, ...deleted];
};

/** Some webhooks get signing secrets of their own, and lose them again. */
const signingActionsOf = (tenants: readonly PlannedTenant[], recoveryMs: number, random: Random): PersonAction[] =>
  tenants.flatMap(({ name: tenant, notifications }) =>
    notifications
      .filter(({ type }) => type === 'webhook')
      .filter(() => random() < 0.2)
      .flatMap(({ index: notification }) =>
        Array.from({ length: integer(1, 3, random) }, (): PersonAction => {
          const kind = random() < 0.7 ? 'sign' : 'unsign';
          return { kind, atMs: Math.round(random() * recoveryMs), tenant, notification };
        }),
      ),
  );

/** In some runs, notifications are muted, and some of these mutes are extended or ended. */
const mutesOf = (tenants: readonly PlannedTenant[], recoveryMs: number, random: Random): PersonAction[] =>
  (random() < 0.2 ? tenants : []).flatMap((tenant) =>
    notificationsOf(tenant)
      .filter(() => random() < 0.4)
      .flatMap(({ index: notification }) =>
        Array.from({ length: integer(1, 3, random) }, (): PersonAction => {
          const lengthMs = pick([0, 10 * SECOND_MS, MINUTE_MS, recoveryMs], random);
          return { kind: 'mute', atMs: Math.round(random() * recoveryMs), tenant: tenant.name, notification, lengthMs };
        }),
      ),
  );

/** Returns the tenants that only some runs have. */
const specialTenantsOf = (
  firstIndex: number,
  quiet: PlannedTenant | undefined,
  recoveryMs: number,
  random: Random,
): SpecialTenant[] => {
  const share = random();
  if (share < 0.02) return [largePlanOf(firstIndex, recoveryMs, random)];
  if (share < 0.023) return [attackOf(firstIndex, quiet, recoveryMs, random)];
  if (share < 0.06) return [neighborOf(firstIndex, quiet, random)];
  if (share < 0.24) return [summarizedOf(firstIndex, recoveryMs, random)];
  if (share < 0.36) return limitedOf(firstIndex, recoveryMs, random);
  if (share < 0.6) return [incidentsOf(firstIndex, recoveryMs, random)];
  if (share < 0.75) return [contactsOf(firstIndex, recoveryMs, random)];
  if (share < 0.85) return [summarizedOf(firstIndex, recoveryMs, random)];
  if (share < 0.94) return [rejectedOf(firstIndex, recoveryMs, random)];
  if (share < 0.98) return [retypedOf(firstIndex, recoveryMs, random)];
  return [badAddressesOf(firstIndex, recoveryMs, random)];
};

/** Occupies the summaries of a tenant's emails around a time. */
const occupyingEvents = ({ name, notifications, summaries }: PlannedTenant, aroundMs: number): OccupyingEvent[] =>
  summaries
    ? notifications
        .filter(({ type }) => type === 'email')
        .map(({ index }) => ({
          kind: 'occupy',
          atMs: aroundMs,
          tenant: name,
          notification: index,
          windowMinutes: summaries.window_minutes,
        }))
    : [];

const INVALID = ['{', '[]', '{"event_id":"x"}', '{"event_id":"","tenant_id":"t1","details":{},"entity":{},"alarm":{}}'];

type ScenarioSize = { events: number; tenants: number; actions: number };

/**
 * Most runs are small: what a few events show is found sooner in many small runs than in a large one. What needs limits,
 * slow tenants or long histories is in the others. A large run has about 40 notifications.
 */
const sizeOf = (random: Random): ScenarioSize => {
  const share = random();
  if (share < 0.94) return { events: integer(3, 8, random), tenants: 2, actions: integer(2, 5, random) };
  if (share < 0.997) return { events: integer(20, 50, random), tenants: integer(3, 4, random), actions: 10 };
  return { events: 200, tenants: 5, actions: 30 };
};

/** Returns the index after those of all notifications. */
const indexAfter = (tenants: readonly PlannedTenant[], special: readonly SpecialTenant[]): number =>
  1 +
  Math.max(...[...tenants, ...special.map(({ tenant }) => tenant)].flatMap(notificationsOf).map((each) => each.index));

export const scenarioOf = (seed: number, size: ScenarioSize = sizeOf(randomOf(seed, 'size'))): Scenario => {
  const { events, tenants: tenantCount, actions } = size;
  const random = randomOf(seed, 'scenario');
  const otherRandom = randomOf(seed, 'operations');
  const recoveryMs = integer(5, 60, random) * MINUTE_MS;
  const mayBeCalm = random() < 0.25;
  let index = 0;
  const [orderedRandom, bodyRandom] = [randomOf(seed, 'ordered webhooks'), randomOf(seed, 'bodies of webhooks')];
  const recipientRandom = randomOf(seed, 'unwanted emails');
  const ordinaryTenants = Array.from({ length: tenantCount }, (_, position) => {
    const tenant = tenantOf(position, () => index++, recoveryMs, random);
    const withRecipients = withUnwantedEmails(tenant, recoveryMs, recipientRandom);
    const ordered = withWebhooks(withRecipients, { isOrdered: true }, 0.4, orderedRandom);
    return withWebhooks(ordered, { hasOwnBody: true }, 0.3, bodyRandom);
  });
  const first = specialTenantsOf(index, ordinaryTenants[0], recoveryMs, randomOf(seed, 'special tenants'));
  const optOutRandom = randomOf(seed, 'opt-outs');
  const [hangingRandom, settingsRandom] = [randomOf(seed, 'outages that hang'), randomOf(seed, 'settings')];
  const special =
    optOutRandom() < 0.1 ? [...first, optedOutOf(indexAfter(ordinaryTenants, first), recoveryMs, optOutRandom)] : first;
  // Only without faults, it is known how long the alerts of others should take.
  const isAttacked = special.some(({ tenant }) => tenant.kind === 'attacker');
  const isCalm = mayBeCalm || isAttacked;
  // What one fault causes may be hidden by others.
  const hasOneFault = !isCalm && randomOf(seed, 'one fault')() < 0.2;
  const frequentFault = frequentFaultOf(isCalm, randomOf(seed, 'frequent fault'));
  const tenants = [...ordinaryTenants, ...special.map(({ tenant }) => tenant)];
  const restless = ordinaryTenants.filter(({ kind }) => kind !== 'quiet');
  const storms = Array.from({ length: 2 }, () => stormOf(restless, recoveryMs, random));
  const namesOf = (kind: PlannedTenant['kind']) =>
    new Set(tenants.filter((tenant) => tenant.kind === kind).map(({ name }) => name));
  const single = Array.from({ length: events }, (_, number) =>
    eventOf(number, ordinaryTenants, storms, recoveryMs, random),
  );
  const quiet = withQuietEvents(single, namesOf('quiet'), storms, recoveryMs, random);
  const foreign = withForeignNotifications(quiet, namesOf('attacker'), random);
  const planned = withLateRepeats(foreign, randomOf(seed, 'late repeats'));
  const steps: Step[] = [
    ...operationsOf(ordinaryTenants, recoveryMs, otherRandom),
    ...unusualEventsOf(restless, recoveryMs, otherRandom),
    ...planned,
    ...twinsOf(planned, ordinaryTenants, randomOf(seed, 'twins')),
    ...special.flatMap((each) => each.steps),
    ...moreActionsOf(restless, storms, recoveryMs, randomOf(seed, 'more actions')),
    ...recipientActionsOf(restless, recoveryMs, randomOf(seed, 'pages of recipients')),
    ...accountActionsOf(tenants, recoveryMs, randomOf(seed, 'changes of accounts')),
    ...limitChangesOf(tenants, recoveryMs, randomOf(seed, 'changes of limits')),
    ...mutesOf(restless, recoveryMs, randomOf(seed, 'mutes')),
    ...signingActionsOf(restless, recoveryMs, randomOf(seed, 'signing secrets')),
    ...Array.from({ length: actions }, () => actionOf(restless, recoveryMs, random)),
    ...storms.flatMap(({ tenant, fromMs }) => (random() < 0.3 ? occupyingEvents(tenant, fromMs) : [])),
    ...ordinaryTenants.flatMap(({ name, notifications }) =>
      notifications
        .filter(({ phases }) => (phases.at(-1)?.fromMs ?? 0) > recoveryMs)
        .map(({ index, phases }): PersonAction => {
          const acceptsFromMs = phases.at(-1)?.fromMs ?? 0;
          return { kind: 'retry-now', atMs: acceptsFromMs + MINUTE_MS, tenant: name, notification: index };
        }),
    ),
    ...Array.from(
      { length: integer(0, 4, random) },
      (): InvalidEvent => ({
        kind: 'invalid',
        atMs: Math.round(random() * recoveryMs),
        tenant: pick(restless, random).name,
        body: pick(INVALID, random),
      }),
    ),
  ];
  return {
    seed,
    tenants,
    steps: withoutTimes(steps, randomOf(seed, 'events without a time')).sort((left, right) => left.atMs - right.atMs),
    rates: {
      ...ratesOf(!isCalm && !hasOneFault, random),
      ...(hasOneFault
        ? { recordOutage: frequentFault ? 0 : 0.5 }
        : addedRatesOf(isCalm, randomOf(seed, 'added rates'))),
    },
    frequentFault,
    outages: Array.from({ length: isCalm || hasOneFault ? 0 : integer(0, 3, random) }, () =>
      outageOf(recoveryMs, random, hangingRandom),
    ),
    emailReports: otherRandom() < 0.4 ? otherRandom() * 0.5 : 0,
    privateWebhooks: privateWebhooksOf(ordinaryTenants, otherRandom),
    // Few, so that they are reused and shared. A deployment has at least 20 for each type, and 5 for retries, which a slow
    // tenant must not use up.
    concurrency: isAttacked ? 25 : isCalm ? 8 : 3,
    replicationLagMs: integer(0, 1_000, randomOf(seed, 'replication')),
    stream: streamFaultsOf(recoveryMs, isCalm || hasOneFault, randomOf(seed, 'stream')),
    hasOutcomes: randomOf(seed, 'outcomes')() < 0.5,
    escalations: settingsRandom() < 0.8 ? 'contacts+managed' : pick(escalationModes, settingsRandom),
    maxSkewMs: random() < 0.5 && !isCalm && !hasOneFault ? 2_000 : 0,
    recoveryMs,
  };
};
