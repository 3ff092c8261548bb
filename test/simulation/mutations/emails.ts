import type { NamedMutation } from './named-mutation.ts';

const EMAIL = 'shared/pipeline/transports/email.ts';

/** Defects of the texts of emails. */
export const emailMutations: readonly NamedMutation[] = [
  {
    name: 'never says that an email is late',
    seed: 3,
    file: EMAIL,
    find: 'acceptedAtMs === undefined ? 0 : nowMs - acceptedAtMs',
    replace: '0',
  },
  {
    name: 'ignores the time zone of an account in its emails',
    seed: 1,
    file: EMAIL,
    find: 'await accounts.timeZone(event.tenant_id)',
    replace: "'UTC'",
  },
];
