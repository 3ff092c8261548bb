import type { Observations } from '../world/observations.ts';
import { PRIVATE_HOST } from '../world/receivers.ts';
import { createOutcomes, isOnlyOfType } from './alert-outcomes.ts';
import {
  eventsOf,
  mustBeMuted,
  nameOf,
  type PlannedDelivery,
  plannedAlerts,
  plannedDeliveries,
} from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** Of different events with one ID, a webhook gets only one: that which was claimed first. */
const firstEventWins: Rule = {
  name: 'the first event with an ID wins',
  violations: (observations) =>
    plannedAlerts(observations.scenario)
      .filter(({ event }) => event.alteredAfterMs !== undefined)
      .flatMap((alert) => {
        const own = observations.requests.filter(
          ({ to, body }) => to === alert.to && body.includes(`:ch${alert.event.number}:`),
        );
        const altered = own.filter(({ body }) => body.includes(' altered"')).length;
        return altered > 0 && altered < own.length ? [`${nameOf(alert)} and another event with its ID were sent.`] : [];
      }),
};

/** Each message that is no event is dead-lettered with a reason, and nothing else is. No message crashes a function. */
const invalidEventsAreDeadLettered: Rule = {
  name: 'invalid events are dead-lettered',
  violations({ scenario, deadLetters }) {
    const letters = deadLetters.get('Delivery-AlarmEvents-DeadLetters') ?? [];
    const invalid = scenario.steps.flatMap((step) => (step.kind === 'invalid' ? [step.body] : []));
    const expected = new Set(invalid);
    return [
      ...invalid
        .filter((body) => !letters.some((letter) => letter.body === body && letter.reason !== undefined))
        .map((body) => `An invalid event is not dead-lettered: ${body.slice(0, 100)}`),
      ...letters
        .filter(({ body }) => !expected.has(body) && !body.includes('"occupied"'))
        .map(({ body, reason }) => `An event is dead-lettered as ${reason}: ${body.slice(0, 300)}`),
    ];
  },
};

/** No request goes to a host that resolves to a private address, whatever else it resolves to. */
const privateAddressesAreRefused: Rule = {
  name: 'private addresses are refused',
  violations: ({ requests, scenario: { recoveryMs } }) =>
    requests
      .filter(({ url, atMs }) => new URL(url).hostname === PRIVATE_HOST && atMs < recoveryMs)
      .map(({ url, atMs }) => `A request went to ${url} after ${atMs} ms.`),
};

/** Addresses, phone numbers, URLs and keys of destinations, as `detailsOf` creates them, tokens, secrets and opt-out links. */
const SECRETS = [
  /@people\.test/,
  /\+1202555/,
  /receivers\.test/,
  /\bkeyd\d/,
  /00000000-0000-4000/,
  /mnt_/,
  /whsec_/,
  /link=/,
];

/** No log line contains a recipient or credentials. */
const logsNameNoSecrets: Rule = {
  name: 'logs name no secrets',
  violations({ logs, credentials }) {
    const tokens = [...credentials.values()].map(({ webhook_token }) => webhook_token);
    return logs
      .filter((line) => SECRETS.some((pattern) => pattern.test(line)) || tokens.some((token) => line.includes(token)))
      .map((line) => `A log line has a secret: ${line.slice(0, 300)}`);
  },
};

/** No message names anything of a tenant that is not its recipient's. */
const tenantsAreSeparate: Rule = {
  name: 'tenants are separate',
  violations({ arrivals, scenario }) {
    const tenantOfEvent = new Map(eventsOf(scenario).map(({ number, tenant }) => [number, tenant]));
    const tenantOfRecipient = new Map(
      scenario.tenants.flatMap(({ name, contacts, notifications, fallback }) => [
        ...[...notifications, ...(fallback ? [fallback] : [])].map(({ key }) => [key, name] as const),
        ...contacts.map(({ address }) => [address, name] as const),
        [`tenant ${name}`, name] as const,
      ]),
    );
    return arrivals.flatMap(({ to, numbers, text }) => {
      const tenant = tenantOfRecipient.get(to);
      const ofOthers = numbers.filter((number) => tenantOfEvent.get(number) !== tenant);
      const hosts = [...text.matchAll(/host-(t\d+)/g)]
        .flatMap(([, name]) => name ?? [])
        .filter((name) => name !== tenant);
      return ofOthers.length + hosts.length > 0
        ? [`${to} of ${tenant} got ${[...ofOthers, ...hosts].join(', ')}.`]
        : [];
    });
  },
};

/** Senders read the account every minute, by clocks that are up to 2 s off. */
const CACHE_MS = 65_000;

const withholds = (
  name: string,
  isWithheld: (delivery: PlannedDelivery, observations: Observations) => boolean,
  why: string,
): Rule => ({
  name,
  violations(observations) {
    const { arrivalsOf } = createOutcomes(observations);
    return plannedDeliveries(observations.scenario)
      .filter((delivery) => isWithheld(delivery, observations) && arrivalsOf(delivery).length > 0)
      .map((delivery) => `${nameOf(delivery)} arrived ${why}.`);
  },
});

/** No alert of an event that SQS accepted in shadow mode arrives. */
const shadowWithholdsAlerts = withholds(
  'shadow mode withholds alerts',
  ({ event: { tenant, atMs, repeatsAfterMs } }, { shadows }) =>
    shadows.some(
      (period) =>
        period.tenant === tenant &&
        [0, ...repeatsAfterMs].every(
          (delayMs) => period.fromMs + CACHE_MS < atMs + delayMs && atMs + delayMs < period.untilMs,
        ),
    ),
  'in shadow mode',
);

/** No alert arrives whose event SQS accepted while its notification was muted. An OK that ends an incident does. */
const mutesWithholdAlerts = withholds(
  'mutes withhold alerts',
  (delivery, observations) => isOnlyOfType(delivery) && mustBeMuted(delivery, observations),
  'although it was muted',
);

export const sendingRules: readonly Rule[] = [
  tenantsAreSeparate,
  firstEventWins,
  logsNameNoSecrets,
  invalidEventsAreDeadLettered,
  shadowWithholdsAlerts,
  mutesWithholdAlerts,
  privateAddressesAreRefused,
];
