import type { PlannedTenant, Scenario } from '../world/scenario.ts';
import type { Rule } from './rule.ts';

const DAY_MS = 86_400_000;

/** Returns the limits that operators gave a tenant in a run. */
export const limitChangesOf = ({ steps }: Scenario, tenant: string): PlannedTenant['limits'][] =>
  steps.flatMap((step) => (step.kind === 'limits' && step.tenant === tenant ? step.limits : []));

/** No tenant has more alerts by email, by SMS or to the operators in a UTC day than its limit. */
export const limitsHold: Rule = {
  name: 'daily limits hold',
  violations({ scenario, arrivals, startMs }) {
    return scenario.tenants.flatMap((tenant) => {
      const changed = limitChangesOf(scenario, tenant.name);
      const emails = new Set([
        ...tenant.notifications.filter(({ type }) => type === 'email').map(({ key }) => key),
        ...tenant.contacts.map(({ address }) => address),
      ]);
      const phones = new Set(tenant.notifications.filter(({ type }) => type === 'sms').map(({ key }) => key));
      const managed = new Set([`tenant ${tenant.name}`]);
      const above = (name: string, recipients: ReadonlySet<string>, kind: keyof PlannedTenant['limits']): string[] => {
        const limits = [tenant.limits, ...changed].flatMap((each) => each[kind] ?? []);
        const limit = limits.length > 0 ? Math.max(...limits) : undefined;
        const alerts = arrivals.filter(({ to, kind }) => kind === 'alert' && recipients.has(to));
        const days = Map.groupBy(alerts, ({ atMs }) => Math.floor((startMs + atMs) / DAY_MS));
        return [...days.values()]
          .filter(({ length }) => limit !== undefined && length > limit)
          .map(({ length }) => `${tenant.name} got ${length} alerts by ${name} in a day, with a limit of ${limit}.`);
      };
      return [
        ...above('email', emails, 'emailsPerTenantPerDay'),
        ...above('SMS', phones, 'smsPerTenantPerDay'),
        ...above('managed notification', managed, 'managedPerTenantPerDay'),
      ];
    });
  },
};
