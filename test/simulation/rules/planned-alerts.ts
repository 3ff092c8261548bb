import type { Observations } from '../world/observations.ts';
import { recipientsOf } from '../world/receivers.ts';
import {
  isInOrder,
  MAX_SKEW_MS,
  type PlannedEvent,
  type PlannedNotification,
  type PlannedTenant,
  type Scenario,
  type Step,
} from '../world/scenario.ts';

/** A delivery: an event, and a notification of its plan. */
export type PlannedDelivery = {
  event: PlannedEvent;
  notification: PlannedNotification;
  tenant: PlannedTenant;
};

/** An alert that must arrive: a delivery, and one of its recipients. */
export type PlannedAlert = PlannedDelivery & {
  to: string;
};

const isEvent = (step: Step): step is PlannedEvent => step.kind === 'event';

export const eventsOf = ({ steps }: Scenario): PlannedEvent[] => steps.filter(isEvent);

export const plannedDeliveries = (scenario: Scenario): PlannedDelivery[] => {
  const tenants = new Map(scenario.tenants.map((tenant) => [tenant.name, tenant]));
  return eventsOf(scenario).flatMap((event) => {
    const tenant = tenants.get(event.tenant);
    if (!tenant) return [];
    return tenant.notifications
      .filter(({ index }) => event.notifications.includes(index))
      .map((notification) => ({ event, notification, tenant }));
  });
};

/** Returns those deliveries whose event has its ID alone. */
export const unalteredDeliveries = (scenario: Scenario): PlannedDelivery[] =>
  plannedDeliveries(scenario).filter(({ event }) => event.alteredAfterMs === undefined);

export const plannedAlerts = (scenario: Scenario): PlannedAlert[] =>
  plannedDeliveries(scenario).flatMap((delivery) =>
    recipientsOf(delivery.notification, delivery.tenant).map((to) => ({ ...delivery, to })),
  );

/** Returns when somebody first asked to delete a notification, ms since the start, or undefined. */
export const deletedAtMs = ({ people }: Observations, notification: number): number | undefined =>
  people.find(({ action }) => action.kind === 'delete' && action.notification === notification)?.startedMs;

export const nameOf = ({ event, notification }: PlannedDelivery): string =>
  `#${event.number}# (${event.state} of ${event.tenant} ${event.alarm}) to ${notification.type} ${notification.key}`;

/** Returns when the copies of an event are sent. */
const copiesMs = ({ atMs, repeatsAfterMs, alteredAfterMs = 0 }: PlannedEvent): number[] =>
  [0, alteredAfterMs, ...repeatsAfterMs].map((delayMs) => atMs + delayMs);

/** Returns whether SQS accepted a copy of an event in a period of shadow mode, so that it may be withheld. */
export const isInShadow = (event: PlannedEvent, { shadows }: Observations): boolean =>
  shadows.some(
    ({ tenant, startedMs, untilMs }) =>
      tenant === event.tenant && copiesMs(event).some((atMs) => startedMs <= atMs && atMs < untilMs),
  );

const mutesOf = ({ people }: Observations, notification: number) =>
  people.flatMap(({ action, startedMs, endedMs, responses }) => {
    if (action.kind !== 'mute' || action.notification !== notification) return [];
    const isConfirmed = responses.at(-1)?.status === 204 && action.lengthMs > 0;
    return [{ startedMs, endedMs, untilMs: startedMs + action.lengthMs, isConfirmed }];
  });

/** An OK ends an incident whatever is muted. */
const isNeverMuted = ({ event, notification }: Pick<PlannedDelivery, 'event' | 'notification'>): boolean =>
  event.state === 'OK' && isInOrder(notification);

/** Returns whether SQS accepted a copy of an event while a notification may have been muted. */
export const mayBeMuted = (delivery: Pick<PlannedDelivery, 'event' | 'notification'>, observations: Observations) =>
  !isNeverMuted(delivery) &&
  mutesOf(observations, delivery.notification.index).some(({ startedMs, untilMs }) =>
    copiesMs(delivery.event).some(
      (atMs) => startedMs - MAX_SKEW_MS <= atMs && atMs <= Math.max(startedMs, untilMs) + MAX_SKEW_MS,
    ),
  );

/** Returns whether SQS accepted all copies of an event while a notification was muted: no request ended that before. */
export const mustBeMuted = (delivery: PlannedDelivery, observations: Observations): boolean => {
  const mutes = mutesOf(observations, delivery.notification.index);
  const covers = (mute: (typeof mutes)[number], atMs: number): boolean =>
    mute.isConfirmed &&
    mute.endedMs + MAX_SKEW_MS < atMs &&
    atMs < mute.untilMs - MAX_SKEW_MS &&
    mutes.every((other) => other === mute || other.endedMs < mute.startedMs || other.startedMs > atMs + MAX_SKEW_MS);
  const isCovered = copiesMs(delivery.event).every((atMs) => mutes.some((mute) => covers(mute, atMs)));
  return isCovered && !isNeverMuted(delivery);
};

const acceptedMs = ({ atMs, repeatsAfterMs }: PlannedEvent): number[] => [
  atMs,
  ...repeatsAfterMs.map((delayMs) => atMs + delayMs),
];

const areOfIncident = (event: PlannedEvent, other: PlannedEvent): boolean =>
  event.number !== other.number && event.tenant === other.tenant && event.alarm === other.alarm;

/** Returns whether the producer's times of two events decide which one is older. */
const haveOrder = (event: PlannedEvent, other: PlannedEvent): boolean =>
  !event.hasNoTime && !other.hasNoTime && event.timeMs !== other.timeMs;

/**
 * Returns whether an event may be older than another one of its incident: by its own time or, if these are equal or missing, by that of
 * SQS, which repeats have, too.
 */
export const mayBeOlder = (event: PlannedEvent, other: PlannedEvent): boolean =>
  areOfIncident(event, other) &&
  (haveOrder(event, other)
    ? event.timeMs < other.timeMs
    : Math.min(...acceptedMs(event)) < Math.max(...acceptedMs(other)));

/** Returns whether it must be older, whichever of their copies were delivered. */
export const mustBeOlder = (event: PlannedEvent, other: PlannedEvent): boolean =>
  areOfIncident(event, other) &&
  (haveOrder(event, other)
    ? event.timeMs < other.timeMs
    : Math.max(...acceptedMs(event)) < Math.min(...acceptedMs(other)));

/** Returns whether a newer event of the incident may have been withheld in shadow mode, which supersedes older ones. */
export const isSupersededInShadow = (event: PlannedEvent, observations: Observations): boolean =>
  eventsOf(observations.scenario).some((newer) => mayBeOlder(event, newer) && isInShadow(newer, observations));
