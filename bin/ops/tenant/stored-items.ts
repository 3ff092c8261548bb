import { paginateQuery } from '@aws-sdk/lib-dynamodb';
import { EMAIL_STOP_PREFIX } from '../../../shared/adapters/accounts/email-stops.ts';
import type { Item } from '../../../shared/adapters/dynamodb/items.ts';
import { parseDeliveryPartition } from '../../../shared/domain/delivery-key.ts';
import { OperationError } from '../errors.ts';
import type { Session } from '../session.ts';
import { scanTable } from '../table-scan.ts';

/** The tables, in the order in which the data of a tenant is read and deleted. */
export const tableNames = ['notifications', 'accounts', 'tokens', 'deliveries', 'audits'] as const;

export type TableName = (typeof tableNames)[number];

export const itemKinds = [
  'notifications',
  'notification_chunks',
  'notification_counters',
  'idempotency_keys',
  'accounts',
  'daily_usage',
  'email_stops',
  'tokens',
  'token_lists',
  'deliveries',
  'event_id_conflicts',
  'incident_locks',
  'failed_alerts',
  'destination_lists',
  'failures',
  'outages',
  'summarized_alerts',
  'audits',
] as const;

export type ItemKind = (typeof itemKinds)[number];

export type OwnedItem = { table: TableName; kind: ItemKind; item: Item };

export const tableOf = ({ deployment }: Session, table: TableName): string => {
  const { NotificationsTable, AccountsTable, TokensTable, DeliveriesTable, AuditsTable } = deployment.outputs;
  return {
    notifications: NotificationsTable,
    accounts: AccountsTable,
    tokens: TokensTable,
    deliveries: DeliveriesTable,
    audits: AuditsTable,
  }[table];
};

/** The tables with partitions of a tenant alone: the kinds of items by the first part of the key. */
const tenantPartitions = {
  notifications: {
    notification: 'notifications',
    chunk: 'notification_chunks',
    quota: 'notification_counters',
    idempotency: 'idempotency_keys',
  },
  audits: { audit: 'audits' },
} as const satisfies Partial<Record<TableName, Record<string, ItemKind>>>;
type QueriedTable = keyof typeof tenantPartitions;

const isQueried = (table: TableName): table is QueriedTable => table in tenantPartitions;

/** The other tables have no key by tenant alone: their keys contain a day, a hash or a notification. */
type ScannedTable = Exclude<TableName, QueriedTable>;

/** Keys of `dailyCounter`. */
const DAILY_COUNTER = /^[a-z_]+(?::\w+)?#\d{4}-\d\d-\d\d#(.*)$/;

/** Returns the tenant and the kind of an item, or undefined if its key has an unknown format. */
const ownerOf = (table: ScannedTable, item: Item): { tenant: unknown; kind: ItemKind } | undefined => {
  const [pk, sk] = [String(item.pk), String(item.sk)];
  const [prefix, afterPrefix] = [pk.slice(0, pk.indexOf('#')), pk.slice(pk.indexOf('#') + 1)];
  if (table === 'tokens') {
    if (prefix === 'tenant') return { tenant: afterPrefix, kind: 'token_lists' };
    return 'tenant' in item ? { tenant: item.tenant, kind: 'tokens' } : undefined;
  }
  if (table === 'accounts') {
    if (prefix === 'account') return { tenant: afterPrefix, kind: 'accounts' };
    if (prefix === EMAIL_STOP_PREFIX)
      return { tenant: afterPrefix.slice(afterPrefix.indexOf('#') + 1), kind: 'email_stops' };
    const [, tenant] = DAILY_COUNTER.exec(pk) ?? [];
    return tenant === undefined ? undefined : { tenant, kind: 'daily_usage' };
  }
  const { tenant } = parseDeliveryPartition(pk);
  if (prefix === 'failed') return { tenant, kind: 'failed_alerts' };
  if (prefix === 'destinations') return { tenant, kind: 'destination_lists' };
  if (prefix === 'summary') return { tenant, kind: 'summarized_alerts' };
  if (prefix === 'failures') return { tenant, kind: 'failures' };
  if (prefix === 'outage') return { tenant, kind: 'outages' };
  if (prefix !== 'delivery') return undefined;
  if (sk.startsWith('incident#')) return { tenant, kind: 'incident_locks' };
  if (sk.startsWith('conflict#')) return { tenant, kind: 'event_id_conflicts' };
  return /^\d/.test(sk) ? { tenant, kind: 'deliveries' } : undefined;
};

/** Attributes that are enough to delete an item. `tenant` exists in table Tokens only. */
const KEYS_ONLY = {
  notifications: 'pk, sk',
  accounts: 'pk',
  tokens: 'pk, tenant',
  deliveries: 'pk, sk',
  audits: 'pk, sk',
} as const satisfies Record<TableName, string>;

type ReadOptions = {
  tables?: readonly TableName[];
  /** Reads only the attributes in `KEYS_ONLY`. */
  isKeysOnly?: boolean;
};

/**
 * Yields all items of a tenant, in pages of at most 1 MB. Queries tables Notifications and Audits, and scans the others,
 * because their keys cannot be derived from the tenant: the delivery records of a deleted notification are found in no
 * other way. The scans are eventually consistent, which costs half.
 *
 * @throws OperationError if a key that may be of the tenant has an unknown format, such as that of a later version
 */
export async function* itemsOf(
  session: Session,
  tenant: string,
  { tables = tableNames, isKeysOnly = false }: ReadOptions = {},
): AsyncGenerator<OwnedItem[]> {
  for (const table of tables) {
    const projection = isKeysOnly ? { ProjectionExpression: KEYS_ONLY[table] } : {};
    const pages = isQueried(table)
      ? queried(session, table, tenant, projection)
      : scanned(session, table, tenant, projection);
    for await (const owned of pages) if (owned.length > 0) yield owned;
  }
}

type Projection = { ProjectionExpression?: string };

async function* queried(
  session: Session,
  table: QueriedTable,
  tenant: string,
  projection: Projection,
): AsyncGenerator<OwnedItem[]> {
  for (const [prefix, kind] of Object.entries(tenantPartitions[table])) {
    const pages = paginateQuery(
      { client: session.documents },
      {
        TableName: tableOf(session, table),
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': `${prefix}#${tenant}` },
        ConsistentRead: true,
        ...projection,
      },
    );
    for await (const { Items = [] } of pages) yield Items.map((item) => ({ table, kind, item }));
  }
}

/** The filter reads less over the network, but also finds tenants whose names contain this one after a `#`. */
const filterOf = (table: ScannedTable, tenant: string) =>
  table === 'tokens'
    ? {
        FilterExpression: 'tenant = :tenant OR pk = :list',
        ExpressionAttributeValues: { ':tenant': tenant, ':list': `tenant#${tenant}` },
      }
    : { FilterExpression: 'contains(pk, :suffix)', ExpressionAttributeValues: { ':suffix': `#${tenant}` } };

async function* scanned(
  session: Session,
  table: ScannedTable,
  tenant: string,
  projection: Projection,
): AsyncGenerator<OwnedItem[]> {
  const filter = { ...filterOf(table, tenant), ...projection };
  for await (const items of scanTable(session, tableOf(session, table), filter)) {
    yield items.flatMap((item): OwnedItem[] => {
      const owner = ownerOf(table, item);
      if (!owner && String(item.pk).endsWith(`#${tenant}`)) {
        throw new OperationError(
          `Table ${tableOf(session, table)} contains a key of an unknown format, ${JSON.stringify(String(item.pk).split('#')[0])}: use the command line of the version that wrote it.`,
        );
      }
      return owner?.tenant === tenant ? [{ table, kind: owner.kind, item }] : [];
    });
  }
}
