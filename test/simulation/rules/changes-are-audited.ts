import type { PersonAction } from '../world/scenario.ts';
import type { Rule } from './rule.ts';

const ACTIONS: Partial<Record<PersonAction['kind'], string>> = {
  delete: 'delete-notification',
  relabel: 'update-notification',
  summaries: 'update-account',
  rotate: 'rotate-signing-secret',
  token: 'create-token',
};

/** Each change has one audit entry; one whose outcome is unknown has one or none. */
export const changesAreAudited: Rule = {
  name: 'changes are audited',
  violations({ people, audits, ids }) {
    const keyOf = (tenant: string, action: string, target: string) => `${tenant} ${action} ${target}`;
    const counts = new Map<string, { certain: number; unknown: number }>();
    for (const { action, responses } of people) {
      const name = ACTIONS[action.kind];
      if (name === undefined) continue;
      const target = 'notification' in action ? (ids.get(action.notification) ?? '') : '';
      const key = keyOf(action.tenant, name, target);
      const count = counts.get(key) ?? { certain: 0, unknown: 0 };
      for (const { status } of responses) {
        // An update that changes nothing has no entry.
        const isCertain = action.kind !== 'summaries' || action.summaries !== undefined;
        if (status < 300 && isCertain) count.certain++;
        else if (status < 300 || status >= 500 || status === 404) count.unknown++;
      }
      counts.set(key, count);
    }
    // Operators set up the accounts.
    const byPeople = audits.filter(({ actor }) => actor.type === 'token');
    return [...counts].flatMap(([key, { certain, unknown }]) => {
      const [tenant, action, target] = key.split(' ');
      const found = byPeople.filter(
        (entry) => entry.tenant === tenant && entry.action === action && (target === '' || entry.target_id === target),
      ).length;
      return found < certain || found > certain + unknown
        ? [`${key}: ${certain} certain and ${unknown} unknown changes have ${found} audit entries.`]
        : [];
    });
  },
};
