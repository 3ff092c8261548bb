import { type Command, Option } from 'commander';
import { addWhy, examples, parseNumber, parseTenant } from './arguments.ts';
import { errorSummary, OperationError, UsageError } from './errors.ts';
import { formatTable, isoTime, pluralize, toJson, toSecond } from './print.ts';
import { connect, connectForChange } from './session.ts';
import { createPace, DEFAULT_UNITS_PER_SECOND, realTime } from './table-scan.ts';
import { assertKnown } from './targets.ts';
import { countTenant, type Deletion, deleteTenant } from './tenant/deletion.ts';
import { exportTenant } from './tenant/export.ts';
import { describeImport, describeMap, importTenant } from './tenant/import.ts';
import { readSources } from './tenant/import-source.ts';
import { createFile, standardOutput } from './tenant/output.ts';
import { deleteWithReceipt } from './tenant/receipt.ts';

/** Alerts in flight can add data for as long as their retries last. */
const IN_FLIGHT_MS = 24 * 3_600_000;

/** Adds `tenant`: import, export and deletion of all data of one tenant. */
export const addTenantCommands = (program: Command): void => {
  const tenant = program.command('tenant').description('import, export or delete all data of a tenant');
  const addOptions = (command: Command) =>
    command
      .argument('<tenant>', 'the tenant', parseTenant)
      .option(
        '--units-per-second <number>',
        'read and write capacity units that the command uses; it scans the tables',
        parseNumber(40_000),
        DEFAULT_UNITS_PER_SECOND,
      );
  addOptions(tenant.command('export'))
    .description('write everything that is stored about a tenant to a new file, as JSON Lines')
    .option('--out <file>', 'the file, readable only by you; - for standard output (default: <tenant>.jsonl)')
    .option('--secrets', 'also write the webhook token and the signing secrets', false)
    .addHelpText('after', examples('tenant export acme', 'tenant export acme --out - | gzip > acme.jsonl.gz'))
    .action(exportData);
  addWhy(addOptions(tenant.command('delete')))
    .description('revoke all tokens of a tenant and delete everything that is stored about it')
    .option('--dry-run', 'only count what would be deleted', false)
    .option('--yes', 'confirm the deletion', false)
    .addOption(
      new Option('--receipt <file>', 'write a receipt with counts before and after to a new file').conflicts('dryRun'),
    )
    .addHelpText(
      'after',
      `\nStop the producer of the tenant's alarm events first. An interruption does no harm: run the command again.\n${examples('tenant delete acme --dry-run', 'tenant delete acme --yes --receipt acme.json')}`,
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
    .addHelpText(
      'after',
      `
Prints the old and the new ID of each notification. Repeat it after an interruption, or with later data: what exists is
not created again. The token for a URL is read from the environment variable SOURCE_TOKEN.
${examples('tenant import acme notifications.json --dry-run', 'tenant import acme notifications.json --stack MonitoringNotifications > ids.tsv', 'tenant import acme https://old.example.com/v1.0/notifications --stack MonitoringNotifications')}`,
    )
    .action(importData);
};

type ImportOptions = { dryRun: boolean; update: boolean };

const importData = async (
  tenant: string,
  sources: string[],
  { dryRun, update }: ImportOptions,
  command: Command,
): Promise<void> => {
  const session = await (dryRun ? connect(command) : connectForChange(command));
  const imported = await importTenant(session, tenant, readSources(sources, process.env.SOURCE_TOKEN), {
    limit: await session.accounts.currentLimit(
      'notificationsPerTenant',
      session.deployment.outputs.TenantLimits,
    )(tenant),
    isDryRun: dryRun,
    canUpdate: update,
    onProgress: (count) => session.progress.show(`Read ${pluralize(count, 'record')}.`),
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

type ExportOptions = { out?: string; secrets: boolean; unitsPerSecond: number };

const exportData = async (
  tenant: string,
  { out = `${encodeURIComponent(tenant)}.jsonl`, secrets, unitsPerSecond }: ExportOptions,
  command: Command,
): Promise<void> => {
  // The export contains keys of destinations.
  const session = await connectForChange(command);
  const pace = createPace(unitsPerSecond, realTime);
  const output = out === '-' ? standardOutput : createFile(out);
  const counts = await exportTenant(session, tenant, {
    pace,
    withSecrets: secrets,
    nowMs: Date.now(),
    write: (line) => output.write(`${toJson(line, replaceBytes)}\n`),
    onProgress: (name, scanned) => session.progress.show(`Read ${scanned} items of table ${name}.`),
  })
    .then(async (written) => {
      if (Object.keys(written).length === 0) await assertKnown(session, tenant);
      return written;
    })
    .catch((error: unknown) => {
      output.discard();
      throw error;
    })
    .finally(session.progress.clear);
  output.close();
  if (out === '-') return;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const note = `Wrote ${total} records of tenant ${tenant} to ${out}, using ${Math.ceil(pace.units)} capacity units.`;
  session.print(
    { tenant_id: tenant, file: out, records: counts, capacity_units: pace.units },
    countsText(counts, ''),
    note,
  );
};

/** Writes bytes as Base64, and sets as lists. */
const replaceBytes = (_: string, value: unknown): unknown => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return value instanceof Set ? [...value] : value;
};

type DeleteOptions = { dryRun: boolean; yes: boolean; unitsPerSecond: number; receipt?: string };

const deleteData = async (
  tenant: string,
  { dryRun, yes, unitsPerSecond, receipt }: DeleteOptions,
  command: Command,
): Promise<void> => {
  if (!dryRun && !yes) {
    throw new UsageError(
      `This would permanently delete all data of tenant ${tenant}: see what with --dry-run, confirm with --yes.`,
    );
  }
  const session = await (dryRun ? connect(command) : connectForChange(command));
  const pace = createPace(unitsPerSecond, realTime);
  const options = { pace, timing: realTime, onProgress: session.progress.show };
  const run = () => {
    if (dryRun) return countTenant(session, tenant, options);
    if (receipt === undefined) return deleteTenant(session, tenant, options);
    return deleteWithReceipt(session, tenant, receipt, options);
  };
  const deletion = await run().finally(session.progress.clear);
  const { items, deadLetters: dead_letters } = deletion;
  const summary = { tenant_id: tenant, dry_run: dryRun, items, dead_letters, capacity_units: pace.units };
  if (dryRun) return session.print(summary, deletionText(deletion, 'Nothing is stored about the tenant.'));
  const isEmpty = Object.keys({ ...items, ...dead_letters }).length === 0;
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
