import type { Command } from 'commander';
import { parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { Attempt, DeliveryRecord, DeliveryStatus } from '../../shared/domain/delivery-record.ts';
import { examples, readNumber, readTenant } from './arguments.ts';
import { type Colour, coloured, foreign, moment, table } from './print.ts';
import { connect, type Session } from './session.ts';

/** Notifications of a tenant that are asked for their deliveries at one time. */
const AT_ONCE = 25;
/** Notifications that one query of the list reads; their content comes along, which may be large. */
const PAGE = 50;

type Options = { tenant: string; notification?: string; alarm?: string; limit: number };

/** `deliveries`: what became of the alerts of a tenant. */
export function addDeliveriesCommand(program: Command): void {
  program
    .command('deliveries')
    .description('show the newest deliveries of a tenant, of one notification or one alarm, of the last 30 days')
    .requiredOption('--tenant <tenant>', 'whose deliveries', readTenant)
    .option('--notification <id>', 'only to this notification; one that is deleted can still be asked for')
    .option('--alarm <id>', 'only about this alarm')
    .option('--limit <number>', 'how many', readNumber(1_000), 20)
    .addHelpText(
      'after',
      examples('deliveries --tenant acme --alarm alDisk', 'deliveries --tenant acme --notification nt01… --limit 5'),
    )
    .action(show);
}

async function show(options: Options, command: Command): Promise<void> {
  const session = await connect(command);
  const records = await newest(session, options);
  const conflicts = await conflictsOf(session, records);
  const found = records.map((record) => ({ ...described(record), conflict: conflicts.get(record.sk) ?? null }));
  const text = table(found, [
    ['time', ({ time }) => time],
    ['notification', ({ notification }) => foreign(notification)],
    ['event', ({ event }) => foreign(event)],
    ['state', ({ state }) => state],
    ['status', ({ status }) => coloured(colours[status], status)],
    ['attempts', ({ attempts }) => summary(attempts)],
    ['id used again', ({ conflict }) => conflict ?? '–'],
  ]);
  session.answer(found, found.length > 0 ? text : 'There are no such deliveries.');
}

const colours: Record<DeliveryStatus, Colour> = {
  pending: 'yellow',
  failed: 'red',
  delivered: 'green',
  bounced: 'red',
  superseded: 'dim',
  cancelled: 'dim',
};

/** When other events came with the ids of these deliveries' events, by the sort keys of their records. */
async function conflictsOf({ deliveries }: Session, records: readonly DeliveryRecord[]): Promise<Map<string, string>> {
  const places = [...new Set(records.map(({ pk }) => pk))].map(parseDeliveryPartition);
  const found = await Promise.all(places.map((place) => deliveries.listConflicts(place)));
  return new Map(found.flatMap((some) => [...some].map(([sk, at]) => [sk, moment(at)] as const)));
}

/** One query for each notification, newest first. */
async function newest(session: Session, { tenant, notification, alarm, limit }: Options): Promise<DeliveryRecord[]> {
  const ids = notification === undefined ? notificationIds(session, tenant) : [notification];
  const found: DeliveryRecord[] = [];
  for await (const some of grouped(ids)) {
    const queries = some.map((id) => session.deliveries.listNewest({ tenant, notificationId: id }, limit, alarm));
    found.push(...(await Promise.all(queries)).flat());
    found.sort((one, other) => other.round_started_at_ms - one.round_started_at_ms).splice(limit);
  }
  return found;
}

async function* notificationIds({ notifications }: Session, tenant: string): AsyncGenerator<string> {
  for await (const { id } of notifications.list(tenant, null, PAGE)) yield id;
}

async function* grouped(ids: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string[]> {
  let group: string[] = [];
  for await (const id of ids) {
    group.push(id);
    if (group.length < AT_ONCE) continue;
    yield group;
    group = [];
  }
  yield group;
}

/** A delivery as it is shown: when its round began, and its last nine attempts. */
function described({
  pk,
  round_started_at_ms,
  event_id,
  entity_id,
  alarm_id,
  state,
  status,
  attempt_count,
  next_attempt_at_ms,
  attempts,
}: DeliveryRecord) {
  return {
    time: moment(round_started_at_ms),
    notification: parseDeliveryPartition(pk).notificationId,
    event: event_id,
    entity: entity_id,
    alarm: alarm_id,
    state,
    status,
    attempts_of_round: attempt_count,
    next_attempt: status === 'pending' ? moment(next_attempt_at_ms) : null,
    attempts: attempts.map(({ timestamp_ms, result, status: code, duration_ms }) => ({
      time: moment(timestamp_ms),
      outcome: result,
      http_status: code ?? null,
      duration_ms,
    })),
  };
}

type ShownAttempt = { outcome: Attempt['result']; http_status: number | null };

/** `transient 503 ×3, delivered 200`. */
function summary(attempts: readonly ShownAttempt[]): string {
  const runs: { word: string; times: number }[] = [];
  for (const { outcome, http_status: code } of attempts) {
    const word = code === null ? outcome : `${outcome} ${code}`;
    const last = runs.at(-1);
    if (last?.word === word) last.times += 1;
    else runs.push({ word, times: 1 });
  }
  return runs.map(({ word, times }) => (times > 1 ? `${word} ×${times}` : word)).join(', ') || '–';
}
