import type { Observations } from '../world/observations.ts';
import type { Refusal } from '../world/receivers.ts';
import type { PlannedTenant, Scenario } from '../world/scenario.ts';
import { isAboveDailyLimit } from './alert-outcomes.ts';
import type { Rule } from './rule.ts';

const DAY_MS = 86_400_000;

const dayOf = (atMs: number, { startMs }: Observations): number => Math.floor((startMs + atMs) / DAY_MS);

/** A way to send messages, with its recipients of a tenant and its limit. */
type Way = {
  name: string;
  service: 'ses' | 'sns';
  senders: RegExp;
  recipients: ReadonlySet<string>;
  /** Those that the tenant had in the run. */
  limits: readonly number[];
};

/** Where accounts have none of their own (`managedPerTenantPerDay` in docs/operations.md). */
const DEFAULT_MANAGED_LIMIT = 100;

const waysOf = ({ name, notifications, contacts, limits }: PlannedTenant, { steps }: Scenario): Way[] => {
  const changed = steps.flatMap((step) => (step.kind === 'limits' && step.tenant === name ? step.limits : []));
  const limitsOf = (kind: keyof PlannedTenant['limits']): number[] =>
    [limits, ...changed].flatMap((each) => each[kind] ?? []);
  const ofManaged = limitsOf('managedPerTenantPerDay');
  const keys = (type: string) => notifications.filter((each) => each.type === type).map(({ key }) => key);
  const emails = [...keys('email'), ...contacts.map(({ address }) => address)];
  return [
    {
      name: 'emails',
      service: 'ses',
      senders: /^send-(email|technicalContactsEmail)#/,
      recipients: new Set(emails),
      limits: limitsOf('emailsPerTenantPerDay'),
    },
    {
      name: 'SMS',
      service: 'sns',
      senders: /^send-sms#/,
      recipients: new Set(keys('sms')),
      limits: limitsOf('smsPerTenantPerDay'),
    },
    {
      name: 'messages to operators',
      service: 'sns',
      senders: /^send-managed#/,
      recipients: new Set([`tenant ${name}`]),
      limits: ofManaged.length > 0 ? ofManaged : [DEFAULT_MANAGED_LIMIT],
    },
  ];
};

/** How long a message that AWS rejects counts, ms, or until it is sent again in place. */
const RESERVED_MS = 4_000;

/** Returns how many of these messages counted at the same time, before they were given back. */
const maxReserved = (rejected: readonly Refusal[]): number =>
  Math.max(
    0,
    ...rejected.map(({ atMs }) => {
      const reserved = rejected.filter((other) => other.atMs >= atMs && other.atMs < atMs + RESERVED_MS);
      return new Set(reserved.map(({ to, numbers }) => `${to} ${numbers.join(' ')}`)).size;
    }),
  );

/** Returns what arrived of a tenant's alerts and tests, which count toward the same limit. */
const countedArrivals = ({ recipients }: Way, { arrivals }: Observations) =>
  arrivals.filter(({ kind, to }) => (kind === 'alert' || kind === 'test') && recipients.has(to));

/** Returns at most how many messages count toward a limit on a day: those that arrived, or may have. */
const maxUsed = (way: Way, day: number, observations: Observations): number => {
  const { service, senders, recipients } = way;
  const isOfDay = ({ atMs }: { atMs: number }): boolean => dayOf(atMs, observations) === day;
  const arrived = countedArrivals(way, observations);
  const failed = observations.refusals.filter(({ to, behavior }) => recipients.has(to) && behavior === 'fail');
  const faults = observations.faults.filter(
    ({ operation, kind }) => operation.startsWith(service) && kind !== 'throttled',
  );
  const kills = observations.kills.filter(({ environmentId }) => senders.test(environmentId));
  const rejected = observations.refusals.filter(({ to, behavior }) => recipients.has(to) && behavior !== 'fail');
  const used = [arrived, failed, faults, kills].reduce((sum, each) => sum + each.filter(isOfDay).length, 0);
  return used + maxReserved(rejected.filter(isOfDay));
};

/** Returns when a tenant was told that a limit is used up: by a summary, or by alerts that failed. */
const timesAbove = (
  { name, notifications }: PlannedTenant,
  { recipients }: Way,
  observations: Observations,
): number[] => {
  const { arrivals, earlierHistory, startMs } = observations;
  const summaries = arrivals.filter(({ kind, to }) => kind === 'summary' && recipients.has(to));
  const isManaged = recipients.has(`tenant ${name}`);
  const managed = notifications.filter(({ type }) => isManaged && type === 'managed');
  const failed = earlierHistory.filter(
    (entry) => isAboveDailyLimit(entry) && managed.some(({ index }) => index === entry.notification),
  );
  return [...summaries.map(({ atMs }) => atMs), ...failed.map(({ updated_at }) => updated_at - startMs)];
};

/** Alerts are summarized, or fail, for a daily limit only when it is used up. */
export const limitsAreUsed: Rule = {
  name: 'daily limits can be used up',
  violations(observations) {
    const { scenario, faults, people } = observations;
    return scenario.tenants
      .filter(({ summaries }) => summaries === undefined)
      .filter(({ name }) => !people.some(({ action }) => action.kind === 'summaries' && action.tenant === name))
      .flatMap((tenant) =>
        waysOf(tenant, scenario).flatMap((way) => {
          // A count whose response is lost counts twice, and one that cannot be given back counts.
          const firstFaultMs = Math.min(
            ...faults
              .filter((fault) => way.senders.test(fault.environmentId) && /^dynamodb/.test(fault.operation))
              .map(({ atMs }) => atMs),
          );
          const limit = Math.min(...way.limits);
          const firstDay = dayOf(0, observations);
          // A summary above the limit of summaries waits for another day.
          const times = timesAbove(tenant, way, observations).filter((atMs) => atMs < firstFaultMs);
          return [...new Set(times.map((atMs) => dayOf(atMs, observations)))]
            .map((day) => Array.from({ length: day - firstDay + 1 }, (_, index) => firstDay + index))
            .map((until) => Math.max(...until.map((day) => maxUsed(way, day, observations))))
            .filter((used) => used < limit)
            .map((used) => `${tenant.name} is above a limit after ${used} ${way.name}, with a limit of ${limit}.`);
        }),
      );
  },
};

/** No tenant has more alerts and tests by email, by SMS or to the operators in a UTC day than its limit. */
export const limitsHold: Rule = {
  name: 'daily limits hold',
  violations: (observations) =>
    observations.scenario.tenants.flatMap((tenant) =>
      waysOf(tenant, observations.scenario).flatMap((way) => {
        const { name, limits } = way;
        const days = Map.groupBy(countedArrivals(way, observations), ({ atMs }) => dayOf(atMs, observations));
        return [...days.values()]
          .filter(({ length }) => limits.length > 0 && length > Math.max(...limits))
          .map(
            ({ length }) => `${tenant.name} got ${length} ${name} in a day, with a limit of ${Math.max(...limits)}.`,
          );
      }),
    ),
};
