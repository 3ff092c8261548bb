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
  {
    name: 'sends alerts to a recipient who is not verified',
    seed: 3,
    file: 'shared/pipeline/sender/unverified-recipients.ts',
    find: ".length > 0 ? 'unverified' : undefined",
    replace: ".length > 9 ? 'unverified' : undefined",
  },
  {
    name: 'does not know a recipient who was verified',
    seed: 12,
    file: 'shared/adapters/accounts/recipients.ts',
    find: "'SET verified_at_ms = :now REMOVE code_hash",
    replace: "'SET verified_at = :now REMOVE code_hash",
  },
];
