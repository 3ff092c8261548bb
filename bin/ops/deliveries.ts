import { type Command, Option } from 'commander';
import pLimit from 'p-limit';
import type { DeliveryFilter } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { omitUnreadable } from '../../shared/adapters/notifications/unreadable-notification.ts';
import { type DeliveryStatus, deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { truncate } from '../../shared/domain/alert-text.ts';
import { listedDelivery } from '../../shared/domain/delivery-history.ts';
import { type DeliveryKey, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import { type DeliveryRecord, isWaiting, wasRetryRequested } from '../../shared/domain/delivery-record.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import type { NotificationKey } from '../../shared/domain/notification.ts';
import { examples, parseNumber, parseSince, parseTenant } from './arguments.ts';
import { notificationIds } from './event-deliveries.ts';
import { type Color, colorize, sanitize, toSecond } from './print.ts';
import { connect, connectForChange, type Session } from './session.ts';
import { type Column, formatTable } from './table.ts';

/** The number of notifications whose deliveries are queried concurrently. */
const CONCURRENT_QUERIES = 25;

/** Concurrent writes to the partitions of notifications, which their senders write to as well. */
const CONCURRENT_WRITES = 4;

/** The maximum length of a label in tables, in code points. */
const MAX_LABEL_LENGTH = 30;

type Options = {
  tenant: string;
  notification?: string;
  alarm?: string;
  status?: DeliveryStatus;
  /** Ms since the epoch. */
  since?: number;
  limit: number;
  retryNow: boolean;
};

/** Adds `deliveries`: the delivery records of a tenant. */
export const addDeliveriesCommand = (program: Command): void => {
  program
    .command('deliveries')
    .description('show the newest deliveries of a tenant and their attempts (records are kept for 30 days)')
    .requiredOption('--tenant <tenant>', 'the tenant', parseTenant)
    .option('--notification <id>', 'only deliveries to this notification, which may be deleted')
    .option('--alarm <id>', 'only deliveries about this alarm')
    .addOption(new Option('--status <status>', 'only deliveries with this status').choices(deliveryStatuses))
    .option(
      '--since <time>',
      'only those whose last round of attempts started since this time, or a duration ago such as 90m, 24h or 7d',
      parseSince,
    )
    .option('--limit <number>', 'maximum number of deliveries', parseNumber(100_000), 20)
    .option('--retry-now', 'make the next attempts of those that wait due now, at most once an hour', false)
    .addHelpText(
      'after',
      examples(
        'deliveries --tenant acme --status failed --since 24h',
        'deliveries --tenant acme --status pending --limit 1000 --retry-now',
      ),
    )
    .action(show);
};

const show = async (options: Options, command: Command): Promise<void> => {
  const { tenant, notification, alarm: alarmId, status, since: sinceMs, limit, retryNow } = options;
  const session = await (retryNow ? connectForChange : connect)(command);
  const ids = notification === undefined ? await notificationIds(session, tenant) : [notification];
  const newest = await newestRecords(session, tenant, ids, { alarmId, statuses: status && [status], sinceMs }, limit);
  const { records, count } = retryNow ? await retryWaiting(session, tenant, newest) : { records: newest, count: 0 };
  const found = await deliveriesJson(session, records);
  session.print(
    found,
    found.length > 0 ? formatTable(found, deliveryColumns(found)) : 'There are no such deliveries.',
    retryNow ? `Retried within 15 minutes: ${count} of ${records.length} deliveries.` : '',
  );
};

/**
 * Makes the next attempts of waiting deliveries due now (docs/decisions/deliveries.md#retry-now).
 *
 * @returns the records as stored, and the number of changed ones
 */
const retryWaiting = async (
  { deliveries, record: recordChange }: Session,
  tenant: string,
  records: readonly DeliveryRecord[],
): Promise<{ records: DeliveryRecord[]; count: number }> => {
  const nowMs = Date.now();
  const isRetryable = (found: DeliveryRecord) => isWaiting(found, nowMs) && !wasRetryRequested(found, nowMs);
  for (const pk of new Set(records.filter(isRetryable).map((found) => found.pk))) {
    await recordChange({ action: 'redeliver', target_id: parseDeliveryPartition(pk).notificationId }, tenant);
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

/** Returns the columns of the table of deliveries. */
export const deliveryColumns = (rows: readonly DeliveryJson[]): Column<DeliveryJson>[] => {
  const conflict: Column<DeliveryJson> = [
    'event ID reused',
    ({ conflict_at: at }) => (at === null ? '–' : toSecond(at)),
  ];
  return [
    ['time', ({ round_started_at }) => toSecond(round_started_at)],
    ['notification', ({ notification_id }) => sanitize(notification_id)],
    ['type', ({ type }) => type ?? '–'],
    ['label', ({ notification_label: label }) => sanitize(truncate(label ?? '–', MAX_LABEL_LENGTH))],
    ['event', ({ event_id }) => sanitize(event_id)],
    ['state', ({ state }) => state],
    ['status', ({ status }) => colorize(STATUS_COLORS[status], status)],
    ['attempts', attemptSummary],
    ...(rows.some(({ conflict_at }) => conflict_at !== null) ? [conflict] : []),
  ];
};

/** The color of each status in tables. */
export const STATUS_COLORS: Record<DeliveryStatus, Color> = {
  pending: 'yellow',
  failed: 'red',
  delivered: 'green',
  bounced: 'red',
  superseded: 'dim',
  summarized: 'dim',
  cancelled: 'dim',
};

/** Returns the key of a record as one text. */
export const recordKey = ({ pk, sk }: DeliveryKey): string => `${pk} ${sk}`;

const notificationKey = ({ pk }: Pick<DeliveryKey, 'pk'>): NotificationKey => {
  const { tenant, notificationId: id } = parseDeliveryPartition(pk);
  return { tenant, id };
};

/**
 * Returns deliveries as the API does, with the type and label of their notifications, null if these were deleted, with when their rounds of attempts started and when a different event with the
 * same ID arrived. Times are ms since the epoch.
 */
export const deliveriesJson = async (
  {
    deliveries,
    notifications,
  }: {
    deliveries: Pick<Session['deliveries'], 'listConflicts'>;
    notifications: Pick<Session['notifications'], 'targets'>;
  },
  records: readonly DeliveryRecord[],
) => {
  const partitions = [...new Set(records.map(({ pk }) => pk))];
  const conflicts = new Map(
    await Promise.all(
      partitions.map(async (pk) => [pk, await deliveries.listConflicts(parseDeliveryPartition(pk))] as const),
    ),
  );
  const keys = partitions.map((pk) => notificationKey({ pk }));
  const targets = notifications.targets(keys);
  const described = await Promise.all(
    keys.map(async (key) => {
      const { type = null, label = null } = (await targets.find(key).catch(omitUnreadable)) ?? {};
      return { notification_label: label, type };
    }),
  );
  const descriptions = new Map(partitions.map((pk, index) => [pk, described[index]]));
  return records.map((record) => ({
    notification_id: notificationKey(record).id,
    ...(descriptions.get(record.pk) ?? { notification_label: null, type: null }),
    ...listedDelivery(record, false),
    round_started_at: record.round_started_at_ms,
    conflict_at: conflicts.get(record.pk)?.get(record.sk) ?? null,
  }));
};

/** A delivery as `--json` shows it. */
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
    const queries = group.map((id) => session.deliveries.listNewest({ tenant, notificationId: id }, limit, filter));
    newest.push(...(await Promise.all(queries)).flat());
    newest.sort((left, right) => right.round_started_at_ms - left.round_started_at_ms).splice(limit);
  }
  return newest;
};

/** Returns attempts in the form `transient 503 ×3, delivered 200`, and the reason of an event that was superseded. */
const attemptSummary = ({ attempts, reason }: DeliveryJson): string => {
  const runs: { label: string; length: number }[] = [];
  for (const { result, status_code } of attempts) {
    const label = status_code === null ? result : `${result} ${status_code}`;
    const last = runs.at(-1);
    if (last?.label === label) last.length += 1;
    else runs.push({ label, length: 1 });
  }
  const labels = runs.map(({ label, length }) => (length > 1 ? `${label} ×${length}` : label));
  return [...labels, ...(reason === 'older_timestamp' ? [reason] : [])].join(', ') || '–';
};
