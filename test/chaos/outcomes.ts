import { type NotificationTypeId, notificationTypes } from '../../shared/contracts/notification-types.ts';
import { deliveryId, deliveryKey } from '../../shared/domain/delivery-key.ts';
import type { Receipt } from './destinations.ts';
import { duplicateCause, MAX_ARRIVAL_DELAY_MS, type RecordedAttempt } from './duplicates.ts';
import type { PlannedDelivery } from './plan.ts';

/** The outcomes of all deliveries of a type. */
export type ChaosRow = {
  type: NotificationTypeId;
  planned: number;
  delivered: number;
  superseded: number;
  cancelled: number;
  /** Delivered, but the record could not be written before the function timed out (DECISIONS.md#claims-and-leases). */
  unrecorded: number;
  deadLettered: number;
  /** Planned, but with none of these outcomes. */
  lost: number;
  /** Delivered twice because a worker was killed between send and record. */
  duplicatedByKill: number;
  /** Delivered twice because the sender received no response to the first send within its timeout. */
  duplicatedByTimeout: number;
  /** Delivered twice for another reason. */
  duplicated: number;
};

/** A worker that was killed, by the name of its function, and when, in ms since the epoch. */
export type Kill = { name: string; atMs: number };

/** The records, dead letters, log lines, kills and receipts of a run. */
export type ChaosObservations = {
  /** Delivery records by `<pk> <sk>`. */
  records: ReadonlyMap<string, { status: string; attempts: readonly RecordedAttempt[] }>;
  /** The bodies of the dead letters of a type. */
  deadLetters: (type: NotificationTypeId) => readonly string[];
  /** The IDs of deleted notifications. */
  deleted: ReadonlySet<string>;
  /** The log lines of deliveries that could not be recorded. */
  unrecorded: readonly string[];
  kills: readonly Kill[];
  receipts: readonly Receipt[];
  /** Converts a time of this machine to a time of the stack, both in ms since the epoch. */
  toStackTimeMs: (realMs: number) => number;
};

const DUPLICATE_COLUMNS = {
  kill: 'duplicatedByKill',
  timeout: 'duplicatedByTimeout',
  unexplained: 'duplicated',
} as const;

/** Returns the column that counts a delivery, apart from duplicates. */
const outcomeOf = (
  { event, target }: PlannedDelivery,
  status: string | undefined,
  isUnrecorded: boolean,
  { deadLetters, deleted }: ChaosObservations,
): keyof Omit<ChaosRow, 'type'> => {
  if (status === 'delivered' || status === 'superseded' || status === 'cancelled') return status;
  const isDeadLettered = () =>
    deadLetters(target.type).some((body) => body.includes(event.event_id) && body.includes(target.id));
  if (status === 'failed' && isDeadLettered()) return 'deadLettered';
  if (deleted.has(target.id)) return 'cancelled';
  return isUnrecorded ? 'unrecorded' : 'lost';
};

/** Counts the outcomes of the planned deliveries of a type. */
export const countOutcomes = (
  type: NotificationTypeId,
  planned: readonly PlannedDelivery[],
  observations: ChaosObservations,
): ChaosRow => {
  const { records, unrecorded, kills, receipts, toStackTimeMs } = observations;
  const receiptsByDelivery = Map.groupBy(receipts, ({ delivery }) => delivery);
  const row: ChaosRow = {
    type,
    planned: 0,
    delivered: 0,
    superseded: 0,
    cancelled: 0,
    unrecorded: 0,
    deadLettered: 0,
    lost: 0,
    duplicatedByKill: 0,
    duplicatedByTimeout: 0,
    duplicated: 0,
  };
  for (const delivery of planned.filter(({ target }) => target.type === type)) {
    const { event, target } = delivery;
    row.planned++;
    const { pk, sk } = deliveryKey(event, target.id);
    const isUnrecorded = unrecorded.some((line) => line.includes(deliveryId(event, target.id)));
    const record = records.get(`${pk} ${sk}`);
    row[outcomeOf(delivery, record?.status, isUnrecorded, observations)]++;
    const times = (receiptsByDelivery.get(`${event.number} ${target.key}`) ?? [])
      .map(({ atMs }) => atMs)
      .sort((left, right) => left - right);
    for (let index = 1; index < times.length; index++) {
      const [from = 0, to = 0] = [times[index - 1], times[index]];
      const wasKilled = kills.some(
        ({ name, atMs }) => name.includes(`send-${type}`) && atMs >= from - MAX_ARRIVAL_DELAY_MS && atMs <= to,
      );
      const cause = isUnrecorded ? 'kill' : duplicateCause(toStackTimeMs(from), record?.attempts ?? [], wasKilled);
      row[DUPLICATE_COLUMNS[cause]]++;
    }
  }
  return row;
};

/** Counts the incidents whose newest delivered event is an OK, but whose last delivered event is not. */
export const countIncidentsLeftOpen = (planned: readonly PlannedDelivery[], receipts: readonly Receipt[]): number => {
  const withIncidents = planned.filter(({ target }) => notificationTypes[target.type].hasIncidents);
  const byIncident = Map.groupBy(withIncidents, ({ event, target }) => `${target.id} ${event.alarm.id}`);
  return [...byIncident.values()].filter((deliveries) => {
    const eventsByDelivery = new Map(deliveries.map(({ event, target }) => [`${event.number} ${target.key}`, event]));
    const arrived = receipts
      .filter(({ delivery }) => eventsByDelivery.has(delivery))
      .toSorted((left, right) => left.atMs - right.atMs)
      .map(({ delivery }) => eventsByDelivery.get(delivery));
    const newestNumber = Math.max(...arrived.map((event) => event?.number ?? 0));
    const newest = arrived.find((event) => event?.number === newestNumber);
    return newest?.details.state === 'OK' && arrived.at(-1)?.number !== newestNumber;
  }).length;
};
