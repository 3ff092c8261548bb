import { type Command, Option } from 'commander';
import pLimit from 'p-limit';
import type { DeliveryFilter } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { type DeliveryReason, type DeliveryStatus, deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { type DeliveryKey, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import {
  type Attempt,
  type DeliveryRecord,
  isWaiting,
  reasonOf,
  wasRetryRequested,
} from '../../shared/domain/delivery-record.ts';
import { examples, parseNumber, parseSince, parseTenant } from './arguments.ts';
import { OperationError, UsageError } from './errors.ts';
import { notificationIds } from './event-deliveries.ts';
import { type Color, colorize, isoTime, sanitize, toSecond } from './print.ts';
import { connect, connectForChange, type Session } from './session.ts';
import { shortenedIdMatcher } from './shorten.ts';
import { type Column, EVENT_ID, NOTIFICATION_ID } from './table.ts';

/** The number of notifications whose deliveries are queried concurrently. */
const CONCURRENT_QUERIES = 25;

/** Concurrent writes to the partitions of notifications, which their senders write to as well. */
const CONCURRENT_WRITES = 4;

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
    .option(
      '--notification <id>',
      'only deliveries to this notification, which may be deleted; a shortened ID of a table works',
    )
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
        'deliveries --tenant acme --alarm alDisk',
        'deliveries --tenant acme --status failed --since 24h',
        'deliveries --tenant acme --notification nt01… --limit 5',
        'deliveries --tenant acme --status pending --limit 1000 --retry-now',
      ),
    )
    .action(show);
};

const show = async (given: Options, command: Command): Promise<void> => {
  const session = await (given.retryNow ? connectForChange : connect)(command);
  const options = await withWholeId(session, given);
  const { tenant, notification, alarm: alarmId, status, since: sinceMs, limit, retryNow } = options;
  const ids = notification === undefined ? notificationIds(session, tenant) : [notification];
  const newest = await newestRecords(session, tenant, ids, { alarmId, status, sinceMs }, limit);
  const { records, count } = retryNow ? await retryWaiting(session, tenant, newest) : { records: newest, count: 0 };
  const conflicts = await conflictTimes(session, records);
  const found = records.map((record) => ({
    ...deliveryJson(record),
    conflict: conflicts.get(recordKey(record)) ?? null,
  }));
  const text = session.table(found, deliveryColumns(found));
  session.print(
    found,
    found.length > 0 ? text : 'There are no such deliveries.',
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

type DeliveryRow = ReturnType<typeof deliveryJson> & { conflict: string | null };

/** Returns the columns of the table of deliveries. */
export const deliveryColumns = (rows: readonly DeliveryRow[]): Column<DeliveryRow>[] => {
  const conflict: Column<DeliveryRow> = [
    'event ID reused',
    ({ conflict: time }) => (time === null ? '–' : toSecond(time)),
  ];
  return [
    ['time', ({ time }) => toSecond(time), { omit: 3 }],
    ['notification', ({ notification }) => sanitize(notification), NOTIFICATION_ID],
    ['event', ({ event }) => sanitize(event), EVENT_ID],
    ['state', ({ state }) => state, { omit: 1 }],
    ['status', ({ status }) => colorize(STATUS_COLORS[status], status)],
    // The last attempt is the most informative.
    ['attempts', ({ attempts, reason }) => attemptSummary(attempts, reason), { cut: 'start', minWidth: 16, omit: 2 }],
    ...(rows.some((row) => row.conflict !== null) ? [conflict] : []),
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

/** Replaces a shortened ID, as copied from a table, by the ID of the only notification that it fits. */
const withWholeId = async (session: Session, options: Options): Promise<Options> => {
  const { tenant, notification = '' } = options;
  const matches = shortenedIdMatcher(notification);
  if (!matches) return options;
  const [found, another] = (await Array.fromAsync(notificationIds(session, tenant))).filter(matches);
  if (another !== undefined) {
    throw new UsageError(`Several notifications of tenant ${tenant} fit ${notification}: pass the whole ID (--wide).`);
  }
  if (found === undefined) {
    throw new OperationError(`No notification of tenant ${tenant} fits ${notification}: pass the whole ID (--wide).`);
  }
  return { ...options, notification: found };
};

/** Returns the key of a record as one text. */
export const recordKey = ({ pk, sk }: DeliveryKey): string => `${pk} ${sk}`;

/** Returns when a different event with the same ID arrived, by the key of the delivery record. */
export const conflictTimes = async (
  { deliveries }: Session,
  records: readonly DeliveryRecord[],
): Promise<Map<string, string>> => {
  const partitions = [...new Set(records.map(({ pk }) => pk))];
  const conflicts = await Promise.all(
    partitions.map(async (pk) => {
      const times = await deliveries.listConflicts(parseDeliveryPartition(pk));
      return [...times].map(([sk, timeMs]) => [recordKey({ pk, sk }), isoTime(timeMs)] as const);
    }),
  );
  return new Map(conflicts.flat());
};

/** Queries each notification, and returns the newest records of all, newest first. */
export const newestRecords = async (
  session: Session,
  tenant: string,
  ids: AsyncIterable<string> | Iterable<string>,
  filter: DeliveryFilter,
  limit: number,
): Promise<DeliveryRecord[]> => {
  const newest: DeliveryRecord[] = [];
  for await (const group of grouped(ids)) {
    const queries = group.map((id) => session.deliveries.listNewest({ tenant, notificationId: id }, limit, filter));
    newest.push(...(await Promise.all(queries)).flat());
    newest.sort((left, right) => right.round_started_at_ms - left.round_started_at_ms).splice(limit);
  }
  return newest;
};

async function* grouped(ids: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string[]> {
  let group: string[] = [];
  for await (const id of ids) {
    group.push(id);
    if (group.length < CONCURRENT_QUERIES) continue;
    yield group;
    group = [];
  }
  yield group;
}

/** Returns a delivery as `--json` shows it. */
export const deliveryJson = (record: DeliveryRecord) => ({
  time: isoTime(record.round_started_at_ms),
  notification: parseDeliveryPartition(record.pk).notificationId,
  event: record.event_id,
  entity: record.entity_id,
  alarm: record.alarm_id,
  state: record.state,
  status: record.status,
  reason: reasonOf(record) ?? null,
  ...(record.summary_id !== undefined && { summary: record.summary_id }),
  ...(record.event_at_ms !== undefined && { event_time: isoTime(record.event_at_ms) }),
  ...(record.newer_event_at_ms !== undefined && { newer_event_time: isoTime(record.newer_event_at_ms) }),
  attempts_of_round: record.attempt_count,
  next_attempt: record.status === 'pending' ? isoTime(record.next_attempt_at_ms) : null,
  attempts: record.attempts.map(({ timestamp_ms, result, status: http_status = null, reason = null, duration_ms }) => ({
    time: isoTime(timestamp_ms),
    outcome: result,
    http_status,
    reason,
    duration_ms,
  })),
});

type AttemptJson = { outcome: Attempt['result']; http_status: number | null };

/** Returns attempts in the form `transient 503 ×3, delivered 200`, and the reason of an event that was superseded. */
const attemptSummary = (attempts: readonly AttemptJson[], reason: DeliveryReason | null): string => {
  const runs: { label: string; length: number }[] = [];
  for (const { outcome, http_status } of attempts) {
    const label = http_status === null ? outcome : `${outcome} ${http_status}`;
    const last = runs.at(-1);
    if (last?.label === label) last.length += 1;
    else runs.push({ label, length: 1 });
  }
  const labels = runs.map(({ label, length }) => (length > 1 ? `${label} ×${length}` : label));
  return [...labels, ...(reason === 'older_timestamp' ? [reason] : [])].join(', ') || '–';
};
