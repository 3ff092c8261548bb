import type { Command } from 'commander';
import { createAuditReader } from '../../shared/adapters/audits/audit-log.ts';
import type { StoredAudit } from '../../shared/contracts/audit.ts';
import { MAX_TIME_MS } from '../../shared/contracts/collection.ts';
import { auditRecord } from '../../shared/domain/audit.ts';
import { examples, parseNumber, parseTenant } from './arguments.ts';
import { type Column, formatTable, sanitize, toSecond } from './print.ts';
import { connect } from './session.ts';
import { assertKnown } from './targets.ts';

export const addAuditsCommand = (program: Command): void => {
  program
    .command('audits')
    .description('show who changed what, newest first, with the IAM principals of operators')
    .argument('[tenant]', 'the tenant; without one, what operators did to the whole stack', parseTenant)
    .option('--limit <number>', 'maximum number of entries', parseNumber(1_000), 20)
    .addHelpText('after', examples('audits acme --limit 1000 --json'))
    .action(show);
};

const show = async (tenant: string | undefined, { limit }: { limit: number }, command: Command): Promise<void> => {
  const session = await connect(command);
  const { documents, deployment, print } = session;
  const reader = createAuditReader(documents, deployment.outputs.AuditsTable);
  const found: AuditRow[] = [];
  const newestFirst = { fromMs: 0, toMs: MAX_TIME_MS, isReverse: true };
  for await (const entry of reader.list(tenant, { ...newestFirst, start: null, pageSize: limit })) {
    found.push(auditJson(entry));
    if (found.length === limit) break;
  }
  if (found.length === 0) await assertKnown(session, tenant);
  print(found, found.length > 0 ? formatTable(found, auditColumns) : 'There are no audit entries.');
};

/** Returns an entry as the API does, with the IAM principal of an operator. */
const auditJson = (entry: StoredAudit) => ({
  ...auditRecord(entry),
  principal: entry.actor.type === 'operator' ? entry.actor.principal : null,
});

type AuditRow = ReturnType<typeof auditJson>;

const auditColumns: readonly Column<AuditRow>[] = [
  ['time', ({ timestamp }) => toSecond(timestamp)],
  ['action', ({ action }) => sanitize(action)],
  ['target', ({ target_id }) => sanitize(target_id ?? '–')],
  ['changed', ({ changed }) => sanitize(changed.join(', ') || '–')],
  [
    'actor',
    ({ actor, principal }) =>
      sanitize(principal ?? (actor.type === 'token' ? `${actor.label} (${actor.id})` : actor.type)),
  ],
  ['address', ({ ip_address }) => sanitize(ip_address ?? '–')],
  ['who', ({ who }) => sanitize(who ?? '–')],
  ['why', ({ why }) => sanitize(why ?? '–')],
];
