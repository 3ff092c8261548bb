import type { NamedMutation } from './named-mutation.ts';

const EMAIL = 'shared/pipeline/transports/email.ts';

const PAUSED = 'emails bounce and the tenant is paused';

/** Defects of emails: their texts, when they were confirmed, and the reputation of their senders. */
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
    name: 'erases with a later write of the record when an email was confirmed',
    file: 'shared/adapters/deliveries/delivery-repository.ts',
    find: '      confirmed_at_ms: _confirmed,',
    replace: '',
  },
  {
    name: 'keeps the first time at which a server accepted an email of a delivery',
    file: 'shared/adapters/deliveries/delivery-repository.ts',
    find: '(attribute_not_exists(#time) OR #time < :time)',
    replace: 'attribute_not_exists(#time)',
  },
  {
    name: 'sends the emails of a tenant that is paused',
    seed: PAUSED,
    file: 'shared/pipeline/sender/deliver.ts',
    find: 'if (refused) return deadLetter',
    replace: 'if (refused && isSummary) return deadLetter',
  },
  {
    name: 'pauses a tenant for its first bounce',
    seed: PAUSED,
    file: 'shared/domain/email-reputation.ts',
    find: 'counts[reason] >= min && ',
    replace: '',
  },
  {
    name: 'tells nobody but the operators of a pause',
    seed: PAUSED,
    file: 'shared/pipeline/notices/delivery-reports.ts',
    find: 'UNTOLD_TYPES.includes(type)',
    replace: 'type !== undefined',
  },
  {
    name: 'sends emails to recipients who have opted out',
    seed: 'a recipient stops emails twice, and resumes them',
    file: 'shared/pipeline/transports/email.ts',
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
