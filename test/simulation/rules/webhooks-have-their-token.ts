import type { Rule } from './rule.ts';

/** Every webhook has the token of its tenant. */
export const webhooksHaveTheirToken: Rule = {
  name: 'webhooks have the token of their tenant',
  violations: ({ arrivals, scenario, webhookTokens }) =>
    scenario.tenants.flatMap(({ name, notifications }) => {
      const keys = new Set(notifications.filter(({ type }) => type === 'webhook').map(({ key }) => key));
      const wrong = arrivals.filter(({ to, token }) => keys.has(to) && token !== webhookTokens.get(name));
      return wrong.map(({ to, atMs }) => `${to} of ${name} got a webhook with another token at ${atMs}.`);
    }),
};
