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
    name: 'sends emails to recipients who have opted out',
    seed: 'a recipient stops emails twice, and resumes them',
    file: 'shared/pipeline/opt-out/refusal.ts',
    find: ".length === 0 ? 'opted_out' : undefined",
    replace: ".length < 0 ? 'opted_out' : undefined",
  },
  {
    name: 'does not resume emails',
    seed: 'a recipient stops emails twice, and resumes them',
    file: 'shared/pipeline/opt-out/handler.ts',
    find: 'await optOuts.undo(recipient, auditOf(recipient, requestId));',
    replace: 'await optOuts.claimLastEmail(recipient);',
  },
  {
    name: 'sends the last email again if emails are stopped again',
    seed: 'a recipient stops emails twice, and resumes them',
    file: 'shared/adapters/accounts/opt-outs.ts',
    find: 'attribute_exists(pk) AND attribute_not_exists(confirmed_at_ms)',
    replace: 'attribute_exists(pk)',
  },
];
