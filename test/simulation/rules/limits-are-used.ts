import type { Observations } from '../world/observations.ts';
import type { PlannedTenant } from '../world/scenario.ts';
import type { Rule } from './rule.ts';

const DAY_MS = 86_400_000;

const dayOf = (atMs: number, { startMs }: Observations): number => Math.floor((startMs + atMs) / DAY_MS);

/** A way to send messages, with its recipients of a tenant and its limit. */
type Way = {
  name: string;
  service: 'ses' | 'sns';
  senders: RegExp;
  recipients: ReadonlySet<string>;
  limit: number | undefined;
};

const waysOf = ({ notifications, contacts, limits }: PlannedTenant): Way[] => {
  const keys = (type: string) => notifications.filter((each) => each.type === type).map(({ key }) => key);
  const emails = [...keys('email'), ...contacts.map(({ address }) => address)];
  return [
    {
      name: 'emails',
      service: 'ses',
      senders: /^send-(email|technicalContactsEmail)#/,
      recipients: new Set(emails),
      limit: limits.emailsPerTenantPerDay,
    },
    {
      name: 'SMS',
      service: 'sns',
      senders: /^send-sms#/,
      recipients: new Set(keys('sms')),
      limit: limits.smsPerTenantPerDay,
    },
  ];
};

/** Returns at most how many messages count toward a limit on a day: those that arrived, or may have. */
const maxUsed = ({ service, senders, recipients }: Way, day: number, observations: Observations): number => {
  const isOfDay = ({ atMs }: { atMs: number }): boolean => dayOf(atMs, observations) === day;
  const arrived = observations.arrivals.filter((each) => each.kind === 'alert' && recipients.has(each.to));
  const failed = observations.refusals.filter(({ to, behavior }) => recipients.has(to) && behavior === 'fail');
  const faults = observations.faults.filter(
    ({ operation, kind }) => operation.startsWith(service) && kind !== 'throttled',
  );
  const kills = observations.kills.filter(({ environmentId }) => senders.test(environmentId));
  return [arrived, failed, faults, kills].reduce((sum, each) => sum + each.filter(isOfDay).length, 0);
};

/** Alerts are summarized for a daily limit only when it is used up. */
export const limitsAreUsed: Rule = {
  name: 'daily limits can be used up',
  violations(observations) {
    const { scenario, arrivals, faults, people } = observations;
    return scenario.tenants
      .filter(({ summaries }) => summaries === undefined)
      .filter(({ name }) => !people.some(({ action }) => action.kind === 'summaries' && action.tenant === name))
      .flatMap((tenant) =>
        waysOf(tenant).flatMap((way) => {
          // A count whose response is lost counts twice, and one that cannot be given back counts.
          if (faults.some((fault) => way.senders.test(fault.environmentId) && /^dynamodb/.test(fault.operation)))
            return [];
          const { limit } = way;
          const days = new Set(
            arrivals
              .filter(({ kind, to }) => kind === 'summary' && way.recipients.has(to))
              .map(({ atMs }) => dayOf(atMs, observations)),
          );
          const firstDay = dayOf(0, observations);
          // A summary above the limit of summaries waits for another day.
          return [...days]
            .map((day) => Array.from({ length: day - firstDay + 1 }, (_, index) => firstDay + index))
            .map((until) => Math.max(...until.map((day) => maxUsed(way, day, observations))))
            .filter((used) => limit === undefined || used < limit)
            .map((used) => `${tenant.name} got a summary after ${used} ${way.name}, with a limit of ${limit}.`);
        }),
      );
  },
};
