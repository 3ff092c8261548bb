import type { Command } from 'commander';
import * as z from 'zod';
import { EMAIL_STOP_PREFIX, storedStop } from '../../shared/adapters/accounts/email-stops.ts';
import type { Item } from '../../shared/adapters/dynamodb/items.ts';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { type DeliveryStatus, deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import { DAY_MS, utcDay } from '../../shared/domain/time.ts';
import { isOver, type WithheldPeriod } from '../../shared/domain/withheld.ts';
import { examples } from './arguments.ts';
import { type Column, formatTable, sanitize } from './print.ts';
import { connect, type Session } from './session.ts';
import { shadowRecord } from './shadow.ts';
import { scanTable } from './table-scan.ts';
import { type TableName, tableOf } from './tenant/stored-items.ts';

/** The daily counters of an overview, with their names in `usage` of the API. */
export const usageCounters = {
  email: 'emails_per_day',
  sms: 'sms_per_day',
  managed: 'managed_per_day',
  tests: 'tests_per_day',
  redeliveries: 'redeliveries_per_day',
} as const;

export type TenantOverview = {
  tenant: string;
  /** The number of notifications and unexpired tokens, and how much of each daily limit is used on this UTC day. */
  usage: Record<'notifications' | 'tokens' | (typeof usageCounters)[keyof typeof usageCounters], number>;
  /** Deliveries of alerts that were first processed in the last 24 hours, notices excluded, by their status now. */
  alerts: Partial<Record<DeliveryStatus, number>>;
  /** The period of shadow mode, unless it is over. */
  shadow: WithheldPeriod | undefined;
  /** The number of mailboxes that get no emails of the tenant. */
  stops: number;
};

const counterItem = z.object({ used: z.number() });
const tokenList = z.object({
  tokens: z.array(z.object({ hash: z.string().optional(), expires_at_ms: z.number() })).default([]),
});
const accountItem = z.object({ shadow: z.object({ from_ms: z.number(), until_ms: z.number() }).optional() });
const deliveryItem = z.object({ status: z.enum(deliveryStatuses) });

/** Creates the overviews of tenants, which are empty until items are added. */
const createOverviews = () => {
  const overviews = new Map<string, TenantOverview>();
  return {
    of(tenant: string): TenantOverview {
      const daily = {
        emails_per_day: 0,
        sms_per_day: 0,
        managed_per_day: 0,
        tests_per_day: 0,
        redeliveries_per_day: 0,
      };
      const usage = { notifications: 0, tokens: 0, ...daily };
      const overview = overviews.get(tenant) ?? { tenant, usage, alerts: {}, shadow: undefined, stops: 0 };
      overviews.set(tenant, overview);
      return overview;
    },
    all: () => [...overviews.values()].filter(({ tenant }) => tenant !== HEARTBEAT_TENANT),
  };
};

/** The items of a table that an overview needs: a filter of the scan, and what adds an item. */
type Source = { table: TableName; filter: string; values: Item; add: (pk: string, item: Item) => void };

const sourcesOf = (overviews: ReturnType<typeof createOverviews>, nowMs: number): Source[] => {
  const day = utcDay(nowMs);
  return [
    {
      table: 'notifications',
      filter: 'begins_with(pk, :prefix)',
      values: { ':prefix': 'quota#' },
      add: (pk, item) => {
        overviews.of(pk.replace('quota#', '')).usage.notifications = Math.max(0, counterItem.parse(item).used);
      },
    },
    {
      table: 'accounts',
      filter: 'begins_with(pk, :prefix) OR begins_with(pk, :stop) OR contains(pk, :day)',
      values: { ':prefix': 'account#', ':stop': `${EMAIL_STOP_PREFIX}#`, ':day': `#${day}#` },
      add: (pk, item) => {
        if (pk.startsWith(`${EMAIL_STOP_PREFIX}#`)) {
          const [, , ...tenant] = pk.split('#');
          if (storedStop(item, nowMs)) overviews.of(tenant.join('#')).stops += 1;
        }
        if (pk.startsWith('account#')) {
          const { shadow } = accountItem.parse(item);
          const overview = overviews.of(pk.replace('account#', ''));
          overview.shadow = shadow && !isOver(shadow, nowMs) ? shadow : undefined;
        }
        for (const [counter, name] of Object.entries(usageCounters)) {
          const prefix = `${counter}#${day}#`;
          if (pk.startsWith(prefix)) overviews.of(pk.replace(prefix, '')).usage[name] = counterItem.parse(item).used;
        }
      },
    },
    {
      table: 'tokens',
      filter: 'begins_with(pk, :prefix)',
      values: { ':prefix': 'tenant#' },
      add: (pk, item) => {
        const { tokens } = tokenList.parse(item);
        overviews.of(pk.replace('tenant#', '')).usage.tokens = tokens.filter(
          ({ hash, expires_at_ms }) => hash !== undefined && expires_at_ms > nowMs,
        ).length;
      },
    },
    {
      table: 'deliveries',
      filter: 'created_at_ms >= :since AND attribute_not_exists(notice)',
      values: { ':since': nowMs - DAY_MS },
      add: (pk, item) => {
        const { status } = deliveryItem.parse(item);
        const { alerts } = overviews.of(parseDeliveryPartition(pk).tenant);
        alerts[status] = (alerts[status] ?? 0) + 1;
      },
    },
  ];
};

/**
 * Reads the overviews of all tenants, in any order, by a scan of each table: eventually consistent, which costs half.
 * Nothing else counts the alerts of one tenant, because metrics have no tenant.
 */
export const readOverviews = async (session: Session, nowMs: number): Promise<TenantOverview[]> => {
  const overviews = createOverviews();
  for (const { table, filter, values, add } of sourcesOf(overviews, nowMs)) {
    const scan = { FilterExpression: filter, ExpressionAttributeValues: values };
    for await (const items of scanTable(session, tableOf(session, table), scan))
      for (const item of items) add(String(item.pk), item);
  }
  return overviews.all();
};

export const addTenantsCommand = (program: Command): void => {
  program
    .command('tenants')
    .description(
      'list all tenants, those with the most stopped mailboxes first, with notifications, tokens, usage of today (UTC), and alerts of the last 24 hours',
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

const list = async (_: object, command: Command): Promise<void> => {
  const session = await connect(command);
  const overviews = await readOverviews(session, Date.now());
  const rows = overviews
    .map(tenantJson)
    .toSorted((left, right) => right.stops - left.stops || (left.tenant_id < right.tenant_id ? -1 : 1));
  const text = rows.length === 0 ? 'There are no tenants.' : formatTable(rows, tenantColumns);
  session.print(rows, text);
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
