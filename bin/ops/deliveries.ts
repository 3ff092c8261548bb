import { type Command, Option } from 'commander';
import pLimit from 'p-limit';
import { type DeliveryFilter, filterExpression } from '../../shared/adapters/deliveries/delivery-reader.ts';
import { CONFLICT_PREFIX } from '../../shared/adapters/deliveries/stored-record.ts';
import { type DeliveryStatus, deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { type DeliveryKey, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { isWaiting, listedDelivery, wasRetryRequested } from '../../shared/domain/delivery-status.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import type { NotificationKey } from '../../shared/domain/notification.ts';
import { addWhy, examples, parseNumber, parseSince, parseTenant } from './arguments.ts';
import { UsageError } from './errors.ts';
import { type Color, type Column, colorize, formatTable, sanitize, toSecond } from './print.ts';
import { connect, connectForChange, type Session } from './session.ts';
import { scanDeliveries } from './table-scan.ts';
import { assertKnown, describeNotifications, labelCell, notificationIds } from './targets.ts';

const CONCURRENT_QUERIES = 25;

/** Concurrent writes to the partitions of notifications, which their senders write to as well. */
const CONCURRENT_WRITES = 4;

type Options = {
  tenant?: string;
  notification?: string;
  alarm?: string;
  status?: DeliveryStatus;
  /** Ms since the epoch. */
  since?: number;
  limit: number;
  retryNow: boolean;
};

export const addDeliveriesCommand = (program: Command): void => {
  addWhy(program.command('deliveries'))
    .description('show the newest deliveries and their attempts (records are kept for 30 days)')
    .option('--tenant <tenant>', 'only those of this tenant', parseTenant)
    .option('--notification <id>', 'only those to this notification of the tenant, which may be deleted')
    .option('--alarm <id>', 'only those about this alarm')
    .addOption(new Option('--status <status>', 'only those with this status').choices(deliveryStatuses))
    .option(
      '--since <time>',
      'only those whose last round of attempts started since this time, or a duration ago such as 90m, 24h or 7d',
      parseSince,
    )
    .option('--limit <number>', 'maximum number of deliveries', parseNumber(100_000), 20)
    .option('--retry-now', 'make the next attempts of those that wait due now, at most once an hour', false)
    .addHelpText(
      'after',
      `\nWithout --tenant, scans the table Deliveries: 8 MB per second, $0.016 per GB.\n${examples(
        'deliveries --tenant acme --status failed --since 24h',
        'deliveries --retry-now --limit 100000 --why "the receiver is back" --stack MonitoringNotifications',
      )}`,
    )
    .action(show);
};

const show = async (options: Options, command: Command): Promise<void> => {
  const { tenant, notification, alarm: alarmId, since: sinceMs, limit, retryNow } = options;
  const { status = retryNow ? 'pending' : undefined } = options;
  if (notification !== undefined && tenant === undefined) throw new UsageError('--notification needs --tenant.');
  const session = await (retryNow ? connectForChange : connect)(command);
  const filter = { alarmId, statuses: status && [status], sinceMs };
  const newest =
    tenant === undefined
      ? await scanNewest(session, filter, limit)
      : await newestRecords(
          session,
          tenant,
          notification === undefined ? await notificationIds(session, tenant) : [notification],
          filter,
          limit,
        );
  if (newest.length === 0) await assertKnown(session, tenant);
  const { records, count } = retryNow ? await retryWaiting(session, newest) : { records: newest, count: 0 };
  const found = await deliveriesJson(session, records);
  session.print(
    found,
    found.length > 0
      ? formatTable(found, deliveryColumns(found, tenant === undefined))
      : 'There are no such deliveries.',
    [
      ...(retryNow
        ? [
            `Retried within 15 minutes, unless in progress or retried within an hour: ${count} of ${records.length} deliveries.`,
          ]
        : []),
      ...(records.length === limit ? ['There may be more: raise --limit.'] : []),
    ].join(' '),
  );
};

/**
 * Makes the next attempts due now (docs/decisions/deliveries.md#retry-now). @returns the records as stored, and how
 * many changed
 */
const retryWaiting = async (
  { deliveries, record: recordChange }: Session,
  records: readonly DeliveryRecord[],
): Promise<{ records: DeliveryRecord[]; count: number }> => {
  const nowMs = Date.now();
  const isRetryable = (found: DeliveryRecord) => isWaiting(found, nowMs) && !wasRetryRequested(found, nowMs);
  for (const pk of new Set(records.filter(isRetryable).map((found) => found.pk))) {
    const { tenant, id: notificationId } = parseDeliveryPartition(pk);
    await recordChange({ action: 'redeliver', target_id: notificationId }, tenant);
  }
  const limitWrites = pLimit(CONCURRENT_WRITES);
  const retried = await Promise.all(
    records.map(async (found) => {
      if (!isRetryable(found)) return found;
      const isRequested = await limitWrites(() => deliveries.requestRetry(found, nowMs));
      return isRequested ? { ...found, next_attempt_at_ms: nowMs } : found;
    }),
  );
  return { records: retried, count: retried.filter((found, index) => found !== records[index]).length };
};

export const deliveryColumns = (rows: readonly DeliveryJson[], isOfAllTenants: boolean): Column<DeliveryJson>[] => {
  const conflict: Column<DeliveryJson> = [
    'event ID reused',
    ({ conflict_at: at }) => (at === null ? '–' : toSecond(at)),
  ];
  const tenant: Column<DeliveryJson> = ['tenant', ({ tenant_id }) => sanitize(tenant_id)];
  return [
    ['time', ({ round_started_at }) => toSecond(round_started_at)],
    ...(isOfAllTenants ? [tenant] : []),
    ['notification', ({ notification_id }) => sanitize(notification_id)],
    ['type', ({ type }) => type ?? '–'],
    ['label', ({ notification_label: label }) => labelCell(label)],
    ['event', ({ event_id }) => sanitize(event_id)],
    ['state', ({ state }) => state],
    ['status', ({ status }) => colorize(STATUS_COLORS[status], status)],
    ['reason', reasonCell],
    ['attempts', attemptSummary],
    ...(rows.some(({ conflict_at }) => conflict_at !== null) ? [conflict] : []),
  ];
};

export const STATUS_COLORS: Record<DeliveryStatus, Color> = {
  pending: 'yellow',
  failed: 'red',
  delivered: 'green',
  bounced: 'red',
  superseded: 'dim',
  summarized: 'dim',
  cancelled: 'dim',
};

export const recordKey = ({ pk, sk }: DeliveryKey): string => `${pk} ${sk}`;

const notificationKey = ({ pk }: Pick<DeliveryKey, 'pk'>): NotificationKey => {
  const { tenant, id } = parseDeliveryPartition(pk);
  return { tenant, id };
};

/** Returns deliveries as the API does, with their tenants and notifications. Times are ms since the epoch. */
export const deliveriesJson = async (
  session: {
    deliveries: Pick<Session['deliveries'], 'listConflicts'>;
    notifications: Pick<Session['notifications'], 'targets'>;
  },
  records: readonly DeliveryRecord[],
) => {
  const partitions = [...new Set(records.map(({ pk }) => pk))];
  const conflicts = new Map(
    await Promise.all(
      partitions.map(async (pk) => [pk, await session.deliveries.listConflicts(parseDeliveryPartition(pk))] as const),
    ),
  );
  const described = await describeNotifications(
    session,
    partitions.map((pk) => notificationKey({ pk })),
  );
  return records.map((record) => {
    const key = notificationKey(record);
    return {
      tenant_id: key.tenant,
      notification_id: key.id,
      ...described(key),
      ...listedDelivery(record, false),
      round_started_at: record.round_started_at_ms,
      conflict_at: conflicts.get(record.pk)?.get(record.sk) ?? null,
    };
  });
};

export type DeliveryJson = Awaited<ReturnType<typeof deliveriesJson>>[number];

/** Queries each notification, and returns the newest records of all, newest first. */
export const newestRecords = async (
  session: Session,
  tenant: string,
  ids: readonly string[],
  filter: DeliveryFilter,
  limit: number,
): Promise<DeliveryRecord[]> => {
  const newest: DeliveryRecord[] = [];
  for (const group of inBatches(ids, CONCURRENT_QUERIES)) {
    const queries = group.map((id) => session.deliveries.listNewest({ tenant, id }, limit, filter));
    addNewest(newest, (await Promise.all(queries)).flat(), limit);
  }
  return newest;
};

const addNewest = (newest: DeliveryRecord[], records: readonly DeliveryRecord[], limit: number): void => {
  newest.push(...records);
  newest.sort((left, right) => right.round_started_at_ms - left.round_started_at_ms).splice(limit);
};

/** Scans the records of all tenants, and returns the newest ones, newest first. */
const scanNewest = async (session: Session, filter: DeliveryFilter, limit: number): Promise<DeliveryRecord[]> => {
  const { expression, names, values } = filterExpression(filter) ?? {};
  const newest: DeliveryRecord[] = [];
  const records = scanDeliveries(session, {
    // Conflicts and incident locks are in the same partitions.
    FilterExpression: ['begins_with(pk, :delivery) AND sk < :conflict', ...(expression ? [expression] : [])].join(
      ' AND ',
    ),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: { ':delivery': 'delivery#', ':conflict': CONFLICT_PREFIX, ...values },
  });
  for await (const page of records) addNewest(newest, page, limit);
  return newest;
};

const reasonCell = ({ reason, status, attempts }: DeliveryJson): string =>
  reason ?? (status === 'pending' ? attempts.at(-1)?.reason : null) ?? '–';

/** Returns attempts in the form `transient 503 ×3, delivered 200`. */
const attemptSummary = ({ attempts }: DeliveryJson): string => {
  const runs: { label: string; length: number }[] = [];
  for (const { result, status_code } of attempts) {
    const label = status_code === null ? result : `${result} ${status_code}`;
    const last = runs.at(-1);
    if (last?.label === label) last.length += 1;
    else runs.push({ label, length: 1 });
  }
  return runs.map(({ label, length }) => (length > 1 ? `${label} ×${length}` : label)).join(', ') || '–';
};
