import type { Rule } from './rule.ts';

const DAY_MS = 86_400_000;

/** No tenant has more alerts by email, by SMS or to the operators in a UTC day than its limit. */
export const limitsHold: Rule = {
  name: 'daily limits hold',
  violations({ scenario, arrivals, startMs }) {
    return scenario.tenants.flatMap((tenant) => {
      const emails = new Set([
        ...tenant.notifications.filter(({ type }) => type === 'email').map(({ key }) => key),
        ...tenant.contacts.map(({ address }) => address),
      ]);
      const phones = new Set(tenant.notifications.filter(({ type }) => type === 'sms').map(({ key }) => key));
      const managed = new Set([`tenant ${tenant.name}`]);
      const above = (name: string, recipients: ReadonlySet<string>, limit: number | undefined): string[] => {
        const alerts = arrivals.filter(({ to, kind }) => kind === 'alert' && recipients.has(to));
        const days = Map.groupBy(alerts, ({ atMs }) => Math.floor((startMs + atMs) / DAY_MS));
        return [...days.values()]
          .filter(({ length }) => limit !== undefined && length > limit)
          .map(({ length }) => `${tenant.name} got ${length} alerts by ${name} in a day, with a limit of ${limit}.`);
      };
      return [
        ...above('email', emails, tenant.limits.emailsPerTenantPerDay),
        ...above('SMS', phones, tenant.limits.smsPerTenantPerDay),
        ...above('managed notification', managed, tenant.limits.managedPerTenantPerDay),
      ];
    });
  },
};
