import { eventsOf } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** No message names anything of a tenant that is not its recipient's. */
export const tenantsAreSeparate: Rule = {
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
