import { type Command, Option } from 'commander';
import { examples, parseNumber } from './arguments.ts';
import { sanitize } from './print.ts';
import { connect } from './session.ts';
import { shadowJson } from './shadow.ts';
import type { Column } from './table.ts';
import { readOverviews, type TenantOverview, usageCounters } from './tenant/overview.ts';
import { createPace, DEFAULT_UNITS_PER_SECOND, realTime } from './tenant/pace.ts';

/** What the list can be sorted by. */
const sortKeys = ['tenant', 'notifications', 'tokens', 'alerts', ...usageCounters] as const;
type SortKey = (typeof sortKeys)[number];

/** Adds `tenants`: an overview of all tenants. */
export const addTenantsCommand = (program: Command): void => {
  program
    .command('tenants')
    .description('list all tenants with notifications, tokens, usage of today (UTC), and alerts of the last 24 hours')
    .addOption(new Option('--sort <column>', 'by name, or largest number first').choices(sortKeys).default('tenant'))
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
without notices; --json counts them by status. Tenants without tokens, account, usage and alerts have no row, unless
they once had a notification.
${examples('tenants', 'tenants --sort alerts --stack MonitoringNotifications')}`,
    )
    .action(list);
};

const list = async (
  { sort, unitsPerSecond }: { sort: SortKey; unitsPerSecond: number },
  command: Command,
): Promise<void> => {
  const session = await connect(command);
  const pace = createPace(unitsPerSecond, realTime);
  const overviews = await readOverviews(session, {
    pace,
    nowMs: Date.now(),
    onProgress: (table, scanned) => session.progress.show(`Read ${scanned} items of table ${table}.`),
  }).finally(session.progress.clear);
  const rows = overviews.map(tenantJson).toSorted(comparison(sort));
  const text = rows.length === 0 ? 'There are no tenants.' : session.table(rows, tenantColumns);
  session.print(rows, text, `Used ${Math.ceil(pace.units)} capacity units.`);
};

const tenantJson = ({ tenant, notifications, tokens, alerts, usage, shadow }: TenantOverview) => ({
  tenant,
  notifications,
  tokens,
  alerts_24h: { total: Object.values(alerts).reduce((sum, count) => sum + count, 0), ...alerts },
  usage_today: usage,
  shadow: shadowJson(shadow),
});

type TenantJson = ReturnType<typeof tenantJson>;

const numberOf = (row: TenantJson, key: Exclude<SortKey, 'tenant'>): number => {
  if (key === 'notifications' || key === 'tokens') return row[key];
  return key === 'alerts' ? row.alerts_24h.total : row.usage_today[key];
};

/** Compares by name, or by a number in descending order and then by name. */
const comparison = (sort: SortKey) => (left: TenantJson, right: TenantJson) =>
  (sort === 'tenant' ? 0 : numberOf(right, sort) - numberOf(left, sort)) || (left.tenant < right.tenant ? -1 : 1);

/** The columns of the table of tenants. */
export const tenantColumns: readonly Column<TenantJson>[] = [
  ['tenant', ({ tenant }) => sanitize(tenant), { cut: 'end', minWidth: 12 }],
  ['notifications', ({ notifications }) => notifications, { omit: 4 }],
  ['tokens', ({ tokens }) => tokens, { omit: 3 }],
  ['alerts', ({ alerts_24h }) => alerts_24h.total],
  ['failed', ({ alerts_24h: { failed = 0 } }) => failed, { omit: 5 }],
  ...usageCounters.map(
    (counter): Column<TenantJson> => [
      counter,
      ({ usage_today }) => usage_today[counter],
      { omit: counter === 'tests' || counter === 'redeliveries' ? 1 : 2 },
    ],
  ),
  ['mode', ({ shadow }) => (shadow ? 'shadow' : '')],
];
