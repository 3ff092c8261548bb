import type { Command } from 'commander';
import { createAuditReader } from '../../shared/adapters/audits/audit-log.ts';
import { auditRecord } from '../../shared/domain/audit.ts';
import { addWhy, examples, parseTenant } from './arguments.ts';
import { errorSummary, OperationError, UsageError } from './errors.ts';
import { formatTable, isoTime, toJson, toSecond } from './print.ts';
import { connect, connectForChange, type Session } from './session.ts';
import { assertKnown } from './targets.ts';
import { countTenant, type Deletion, deleteTenant } from './tenant/deletion.ts';
import { exportTenant } from './tenant/export.ts';
import { describeImport, describeMap, importTenant } from './tenant/import.ts';
import { readSources } from './tenant/import-source.ts';
import { createFile, standardOutput } from './tenant/output.ts';

/** Alerts in flight can add data for as long as their retries last. */
const IN_FLIGHT_MS = 24 * 3_600_000;

export const addTenantCommands = (program: Command): void => {
  const tenant = program.command('tenant').description('import, export or delete all data of a tenant');
  tenant
    .command('export')
    .description('write everything that is stored about a tenant to a new file, as JSON Lines; it scans the tables')
    .argument('<tenant>', 'the tenant', parseTenant)
    .option('--out <file>', 'the file, readable only by you; - for standard output (default: <tenant>.jsonl)')
    .option('--secrets', 'also write the webhook token and the signing secrets', false)
    .addHelpText('after', examples('tenant export acme', 'tenant export acme --out - | gzip > acme.jsonl.gz'))
    .action(exportData);
  addWhy(tenant.command('delete'))
    .description('revoke all tokens of a tenant and delete everything that is stored about it; it scans the tables')
    .argument('<tenant>', 'the tenant', parseTenant)
    .option('--dry-run', 'only count what would be deleted', false)
    .option('--yes', 'confirm the deletion', false)
    .addHelpText(
      'after',
      `\nStop the producer of the tenant's alarm events first. An interruption does no harm: run the command again.\n${examples('tenant delete acme --dry-run', 'tenant delete acme --yes --json > acme.json')}`,
    )
    .action(deleteData);
  addWhy(tenant.command('import'))
    .description('create the notifications, contacts and webhook token that another system or an export has')
    .argument('<tenant>', 'the tenant', parseTenant)
    .argument(
      '[sources...]',
      'files with pages, arrays or lines (NDJSON) of records; - is standard input; or the URL of a list',
      ['-'],
    )
    .option('--dry-run', 'only report what would be imported and refused', false)
    .option('--update', 'replace what is stored with other values', false)
    .option('--new', 'accept a tenant of which nothing is stored', false)
    .addHelpText(
      'after',
      `
Prints the old and the new ID of each notification. Repeat it after an interruption, or with later data: what exists is
not created again. The token for a URL is read from the environment variable SOURCE_TOKEN.
${examples('tenant import acme notifications.json --dry-run --new', 'tenant import acme notifications.json --stack MonitoringNotifications > ids.tsv', 'tenant import acme https://old.example.com/v1.0/notifications --stack MonitoringNotifications')}`,
    )
    .action(importData);
};

type ImportOptions = { dryRun: boolean; update: boolean; new: boolean };

const importData = async (
  tenant: string,
  sources: string[],
  { dryRun, update, new: isNew }: ImportOptions,
  command: Command,
): Promise<void> => {
  const session = await (dryRun ? connect(command) : connectForChange(command));
  await assertKnown(session, tenant, isNew);
  const imported = await importTenant(session, tenant, readSources(sources, process.env.SOURCE_TOKEN), {
    limit: await session.accounts.currentLimit(
      'notificationsPerTenant',
      session.deployment.outputs.TenantLimits,
    )(tenant),
    isDryRun: dryRun,
    canUpdate: update,
  })
    .catch((error: unknown) => {
      if (error instanceof UsageError) throw error;
      throw new OperationError(
        `${errorSummary(error).replace(/\.?$/, '.')} If you run the command again, it continues.`,
      );
    })
    .finally(session.progress.clear);
  session.print(
    { tenant_id: tenant, dry_run: dryRun, ...imported },
    describeMap(imported.notifications),
    describeImport(imported, dryRun),
  );
  if (imported.refused.length > 0) process.exitCode = 1;
};

type ExportOptions = { out?: string; secrets: boolean };

const exportData = async (
  tenant: string,
  { out = `${encodeURIComponent(tenant)}.jsonl`, secrets }: ExportOptions,
  command: Command,
): Promise<void> => {
  // The export contains keys of destinations.
  const session = await connectForChange(command);
  const output = out === '-' ? standardOutput : createFile(out);
  const write = (line: unknown) => output.write(`${toJson(line, replaceBytes)}\n`);
  const run = async (): Promise<Record<string, number>> => {
    const written = await exportTenant(session, tenant, { withSecrets: secrets, nowMs: Date.now(), write });
    if (Object.keys(written).length === 0) await assertKnown(session, tenant);
    return written;
  };
  const records = await run().catch((error: unknown) => {
    output.discard();
    throw error;
  });
  output.close();
  if (out === '-') return;
  const total = Object.values(records).reduce((sum, count) => sum + count, 0);
  const note = `Wrote ${total} records of tenant ${tenant} to ${out}.`;
  session.print({ tenant_id: tenant, file: out, records }, countsText(records, ''), note);
};

/** Writes bytes as Base64, and sets as lists. */
const replaceBytes = (_: string, value: unknown): unknown => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return value instanceof Set ? [...value] : value;
};

/** Returns whether the audit of the stack says that a tenant was deleted before a time. */
const wasDeleted = async ({ documents, deployment }: Session, tenant: string, beforeMs: number): Promise<boolean> => {
  const reader = createAuditReader(documents, deployment.outputs.AuditsTable);
  const range = { fromMs: 0, toMs: beforeMs - 1, isReverse: true };
  for await (const entry of reader.list(undefined, { ...range, start: null, pageSize: 100 })) {
    const { action, target_id } = auditRecord(entry);
    if (action === 'delete-tenant' && target_id === tenant) return true;
  }
  return false;
};

type DeleteOptions = { dryRun: boolean; yes: boolean };

const deleteData = async (tenant: string, { dryRun, yes }: DeleteOptions, command: Command): Promise<void> => {
  if (!dryRun && !yes) {
    throw new UsageError(
      `This would permanently delete all data of tenant ${tenant}: see what with --dry-run, confirm with --yes.`,
    );
  }
  const session = await (dryRun ? connect(command) : connectForChange(command));
  const startedMs = Date.now();
  const deletion = await (dryRun ? countTenant : deleteTenant)(session, tenant);
  const { items, deadLetters: dead_letters } = deletion;
  const isEmpty = Object.keys({ ...items, ...dead_letters }).length === 0;
  if (isEmpty && !(await wasDeleted(session, tenant, startedMs))) await assertKnown(session, tenant);
  const summary = { tenant_id: tenant, dry_run: dryRun, items, dead_letters };
  if (dryRun) return session.print(summary, deletionText(deletion, 'Nothing is stored about the tenant.'));
  const runAgainMs = Date.now() + IN_FLIGHT_MS;
  session.print(
    { ...summary, run_again_after: isEmpty ? null : isoTime(runAgainMs) },
    deletionText(deletion, 'Nothing was left to delete.'),
    isEmpty
      ? ''
      : `Alerts in flight can add data for a day. Run the command again after ${toSecond(runAgainMs)}, until nothing is left.`,
  );
};

const deletionText = ({ items, deadLetters }: Deletion, none: string): string => {
  const letters = Object.entries(deadLetters).map(([queue, count]) => [`dead letters of ${queue}`, count] as const);
  return countsText(Object.fromEntries([...Object.entries(items), ...letters]), none);
};

const countsText = (counts: Readonly<Record<string, number>>, none: string): string =>
  Object.keys(counts).length === 0
    ? none
    : formatTable(Object.entries(counts), [
        ['kind', ([kind]) => kind.replaceAll('_', ' ')],
        ['count', ([, count]) => count],
      ]);
