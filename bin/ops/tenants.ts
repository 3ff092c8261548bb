import type { Command } from 'commander';
import { examples, parseNumber } from './arguments.ts';
import { type Column, formatTable, sanitize } from './print.ts';
import { connect } from './session.ts';
import { shadowRecord } from './shadow.ts';
import { readOverviews, type TenantOverview, usageCounters } from './tenant/overview.ts';
import { createPace, DEFAULT_UNITS_PER_SECOND, realTime } from './tenant/pace.ts';

/** Adds `tenants`: an overview of all tenants. */
export const addTenantsCommand = (program: Command): void => {
  program
    .command('tenants')
    .description(
      'list all tenants, those with the most stopped mailboxes first, with notifications, tokens, usage of today (UTC), and alerts of the last 24 hours',
    )
    .option(
      '--units-per-second <number>',
      'read capacity units that the command uses; it scans the tables',
      parseNumber(40_000),
      DEFAULT_UNITS_PER_SECOND,
    )
    .addHelpText(
      'after',
      `
Alerts are the deliveries, one for each event and notification, that a sender first processed in the last 24 hours,
without notices; --json counts them by status. Tenants without tokens, account, usage, stopped mailboxes and alerts
have no row, unless they once had a notification.
${examples('tenants', 'tenants --stack MonitoringNotifications --json')}`,
    )
    .action(list);
};

const list = async ({ unitsPerSecond }: { unitsPerSecond: number }, command: Command): Promise<void> => {
  const session = await connect(command);
  const pace = createPace(unitsPerSecond, realTime);
  const overviews = await readOverviews(session, {
    pace,
    nowMs: Date.now(),
    onProgress: (table, scanned) => session.progress.show(`Read ${scanned} items of table ${table}.`),
  }).finally(session.progress.clear);
  const rows = overviews
    .map(tenantJson)
    .toSorted((left, right) => right.stops - left.stops || (left.tenant_id < right.tenant_id ? -1 : 1));
  const text = rows.length === 0 ? 'There are no tenants.' : formatTable(rows, tenantColumns);
  session.print(rows, text, `Used ${Math.ceil(pace.units)} capacity units.`);
};

const tenantJson = ({ tenant, usage, alerts, shadow, stops }: TenantOverview) => ({
  tenant_id: tenant,
  usage,
  stops,
  alerts_24h: { total: Object.values(alerts).reduce((sum, count) => sum + count, 0), ...alerts },
  shadow: shadowRecord(shadow),
});

const tenantColumns: readonly Column<ReturnType<typeof tenantJson>>[] = [
  ['tenant', ({ tenant_id }) => sanitize(tenant_id)],
  ['notifications', ({ usage }) => usage.notifications],
  ['tokens', ({ usage }) => usage.tokens],
  ['alerts', ({ alerts_24h }) => alerts_24h.total],
  ['failed', ({ alerts_24h: { failed = 0 } }) => failed],
  ...Object.entries(usageCounters).map(
    ([counter, name]): Column<ReturnType<typeof tenantJson>> => [counter, ({ usage }) => usage[name]],
  ),
  ['stops', ({ stops }) => stops],
  ['mode', ({ shadow }) => (shadow ? 'shadow' : '')],
];
