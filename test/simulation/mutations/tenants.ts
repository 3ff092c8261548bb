import type { NamedMutation } from './named-mutation.ts';

const CIRCUIT = 'shared/adapters/outbound-http/circuit-breaker.ts';
const SLOW = 'shared/adapters/outbound-http/slow-tenants.ts';

/** Defects by which one tenant gets, or decides about, what belongs to another. */
export const tenantMutations: readonly NamedMutation[] = [
  {
    name: 'opens the circuit of an origin for all tenants',
    seed: 27,
    file: CIRCUIT,
    find: 'timeout.tenant === tenant && timeout.origin === origin;',
    replace: 'timeout.origin === origin;',
  },
  {
    name: 'lets the endpoints of a tenant that hang delay the alerts of others',
    seed: 771,
    file: SLOW,
    find: 'return slowUntilMs.has(tenant) || areSlow(sendsOf(tenant));',
    replace: 'return false;',
  },
  {
    name: 'moves the first attempts of all tenants while one is slow',
    seed: 771,
    file: SLOW,
    find: 'return slowUntilMs.has(tenant) || areSlow(sendsOf(tenant));',
    replace: 'return slowUntilMs.size > 0 || areSlow(sendsOf(tenant));',
  },
  {
    name: 'signs the webhooks of a tenant with the secrets of another',
    seed: 1,
    file: 'shared/adapters/accounts/account-repository.ts',
    find: 'const found = cache.get(tenant);',
    replace: "const found = cache.get('account');",
    also: [
      {
        file: 'shared/adapters/accounts/account-repository.ts',
        find: 'cache.set(tenant, entry);',
        replace: "cache.set('account', entry);",
      },
    ],
  },
  {
    name: 'sends an alert to a notification of another tenant that a plan lists',
    seed: 1123,
    file: 'shared/adapters/notifications/notification-targets.ts',
    find: 'const keyText = ({ tenant, id }: NotificationKey): string => `${id} ${tenant}`;',
    replace: 'const keyText = ({ id }: NotificationKey): string => id;',
  },
  {
    name: 'uses the settings of an account for as long as its execution environment lives',
    seed: 5,
    file: 'shared/adapters/accounts/account-repository.ts',
    find: 'if (found && found.untilMs > clock()) return found;',
    replace: 'if (found) return found;',
  },
];
