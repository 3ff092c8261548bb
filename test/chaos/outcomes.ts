import { type NotificationTypeId, notificationTypes } from '../../shared/contracts/notification-types.ts';
import { deliveryId, deliveryKey, hashPart, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import type { Receipt } from './destinations.ts';
import { duplicateCause, type RecordedAttempt } from './duplicates.ts';
import { listedKey, type StoredState } from './observations.ts';
import type { PlannedDelivery } from './plan.ts';

/** The outcomes of all deliveries of a type, or of all notices of a kind. */
export type ChaosRow = {
  name: string;
  planned: number;
  delivered: number;
  superseded: number;
  cancelled: number;
  /** Listed in a summary that was delivered, cancelled, or failed and is dead-lettered. */
  summarized: number;
  /**
   * Delivered, but the record could not be written before the function timed out
   * (docs/decisions/deliveries.md#claims-and-leases).
   */
  unrecorded: number;
  /** Failed, and in the dead-letter queue or in the stored messages of the tenant. */
  deadLettered: number;
  /** Planned, but with none of these outcomes. */
  lost: number;
  /** Delivered twice because a worker was killed between send and record. */
  duplicatedByKill: number;
  /** Delivered twice because the sender received no response to the first send within its timeout. */
  duplicatedByTimeout: number;
  /** Delivered twice for another reason. */
  duplicated: number;
  /** Failed, and started a new round because a client or an operator asked for it. */
  redelivered: number;
  /** Redelivered, and delivered in a later round. */
  deliveredAfterRedelivery: number;
  /** What is known about each delivery that was lost, or delivered twice for another reason. */
  evidence: string[];
};

/** The columns of a row that are numbers. */
export type ChaosCounts = Omit<ChaosRow, 'name' | 'evidence'>;

/** A worker that was killed, by the name of its function, and when, in ms since the epoch. */
export type Kill = { name: string; atMs: number };

/** The stored state, log lines, kills and receipts of a run. */
export type ChaosObservations = StoredState & {
  /** The IDs of deleted notifications. */
  deleted: ReadonlySet<string>;
  /** The log lines of deliveries that could not be recorded. */
  unrecorded: readonly string[];
  kills: readonly Kill[];
  receipts: readonly Receipt[];
  /** Converts a time of the stack to a time of this machine, both in ms since the epoch. */
  toRealTimeMs: (stackTimeMs: number) => number;
};

/** A delivery to account for, and what is known about it. */
export type ObservedDelivery = {
  deliveryId: string;
  /** The type whose sender delivers it. */
  type: NotificationTypeId;
  record: DeliveryRecord | undefined;
  isDeleted: boolean;
  /** When its destination accepted it, in ms since the epoch on this machine. */
  acceptedAtMs: readonly number[];
};

const DUPLICATE_COLUMNS = {
  kill: 'duplicatedByKill',
  timeout: 'duplicatedByTimeout',
  unexplained: 'duplicated',
} as const;

const newRow = (name: string): ChaosRow => ({
  name,
  planned: 0,
  delivered: 0,
  superseded: 0,
  cancelled: 0,
  summarized: 0,
  unrecorded: 0,
  deadLettered: 0,
  lost: 0,
  duplicatedByKill: 0,
  duplicatedByTimeout: 0,
  duplicated: 0,
  redelivered: 0,
  deliveredAfterRedelivery: 0,
  evidence: [],
});

/** Returns the summaries of its notification that list an alarm and have been sent, cancelled or dead-lettered. */
const summariesListing = (
  type: NotificationTypeId,
  record: DeliveryRecord,
  { records, listed, isDeadLettered, unrecorded }: ChaosObservations,
): DeliveryRecord[] => {
  const { tenant: tenant_id, notificationId } = parseDeliveryPartition(record.pk);
  const isUnrecorded = ({ event_id }: DeliveryRecord): boolean => {
    const id = deliveryId({ tenant_id, event_id }, notificationId);
    return unrecorded.some((line) => line.includes(id));
  };
  return [...records.values()].filter(
    (summary) =>
      summary.pk === record.pk &&
      summary.notice === 'summary' &&
      listed.has(listedKey({ tenant_id, event_id: summary.event_id }, record)) &&
      (summary.status === 'delivered' ||
        summary.status === 'cancelled' ||
        isDeadLettered(type, summary) ||
        isUnrecorded(summary)),
  );
};

/** Returns the column that counts a delivery, apart from duplicates. */
const outcomeOf = (
  { type, record, isDeleted }: ObservedDelivery,
  isUnrecorded: boolean,
  observations: ChaosObservations,
): keyof ChaosCounts => {
  const { isDeadLettered } = observations;
  const status = record?.status;
  if (record && status === 'summarized') {
    const isListed = summariesListing(type, record, observations).some(
      ({ event_id }) => event_id === record.summary_id,
    );
    return isListed ? status : 'lost';
  }
  if (status === 'delivered' || status === 'superseded' || status === 'cancelled') return status;
  if (record && status === 'failed' && isDeadLettered(type, record)) return 'deadLettered';
  if (isDeleted) return 'cancelled';
  return isUnrecorded ? 'unrecorded' : 'lost';
};

/** Returns the attempts of a delivery, by the clock of this machine. */
export const attemptsOf = (
  record: DeliveryRecord | undefined,
  { toRealTimeMs }: Pick<ChaosObservations, 'toRealTimeMs'>,
): RecordedAttempt[] =>
  (record?.attempts ?? []).map((attempt) => ({ ...attempt, timestamp_ms: toRealTimeMs(attempt.timestamp_ms) }));

/** Describes a delivery, with the times by the clock of this machine. */
const evidenceOf = (
  problem: string,
  { deliveryId: delivery_id, type, record, acceptedAtMs }: ObservedDelivery,
  observations: ChaosObservations,
): string =>
  JSON.stringify({
    problem,
    type,
    delivery_id,
    status: record?.status,
    round: record?.round,
    accepted_at_ms: acceptedAtMs,
    attempts: attemptsOf(record, observations),
  });

/** How long after its last write a killed worker may have listed an alert again. */
const MAX_LISTING_DELAY_MS = 15_000;

/** Counts how often an alert was listed in a summary, as the newest of its alarm, although it was sent, or is listed in another one. */
const addRepeatedListings = (row: ChaosRow, delivery: ObservedDelivery, observations: ChaosObservations): void => {
  const { type, record, acceptedAtMs } = delivery;
  if (!record || !notificationTypes[type].summarizedAfter) return;
  const { tenant: tenant_id } = parseDeliveryPartition(record.pk);
  const listings = summariesListing(type, record, observations).filter(
    ({ event_id }) => observations.listed.get(listedKey({ tenant_id, event_id }, record)) === hashPart(record),
  ).length;
  const repeated = acceptedAtMs.length > 0 ? listings : listings - 1;
  if (repeated <= 0) return;
  const [fromMs, toMs] = [record.created_at_ms, record.updated_at_ms].map(observations.toRealTimeMs);
  const isKilled = observations.kills.some(
    ({ name, atMs }) =>
      name.includes(`send-${type}`) && atMs >= (fromMs ?? 0) && atMs <= (toMs ?? 0) + MAX_LISTING_DELAY_MS,
  );
  row[isKilled ? 'duplicatedByKill' : 'duplicated'] += repeated;
  if (!isKilled) row.evidence.push(evidenceOf('listed again', delivery, observations));
};

const addDuplicates = (
  row: ChaosRow,
  delivery: ObservedDelivery,
  isUnrecorded: boolean,
  observations: ChaosObservations,
): void => {
  const { type, record, acceptedAtMs } = delivery;
  const attempts = attemptsOf(record, observations);
  const killsMs = observations.kills.flatMap(({ name, atMs }) => (name.includes(`send-${type}`) ? [atMs] : []));
  const times = acceptedAtMs.toSorted((left, right) => left - right);
  for (const [index, secondAtMs] of times.slice(1).entries()) {
    const accepted = { firstAtMs: times[index] ?? secondAtMs, secondAtMs };
    const cause = isUnrecorded ? 'kill' : duplicateCause(accepted, attempts, killsMs);
    row[DUPLICATE_COLUMNS[cause]]++;
    if (cause === 'unexplained') row.evidence.push(evidenceOf('duplicated', delivery, observations));
  }
};

/** Counts the outcomes of deliveries. */
export const countOutcomes = (
  name: string,
  deliveries: readonly ObservedDelivery[],
  observations: ChaosObservations,
): ChaosRow => {
  const row = newRow(name);
  for (const delivery of deliveries) {
    const isUnrecorded = observations.unrecorded.some((line) => line.includes(delivery.deliveryId));
    const outcome = outcomeOf(delivery, isUnrecorded, observations);
    row.planned++;
    row[outcome]++;
    if (outcome === 'lost') row.evidence.push(evidenceOf('lost', delivery, observations));
    addDuplicates(row, delivery, isUnrecorded, observations);
    addRepeatedListings(row, delivery, observations);
    if (!delivery.record || delivery.record.round === 1) continue;
    row.redelivered++;
    if (outcome === 'delivered' || outcome === 'unrecorded') row.deliveredAfterRedelivery++;
  }
  return row;
};

/** Returns the planned deliveries of a type. */
export const observedDeliveries = (
  type: NotificationTypeId,
  planned: readonly PlannedDelivery[],
  { records, receipts, deleted }: ChaosObservations,
): ObservedDelivery[] => {
  const receiptsByDelivery = Map.groupBy(receipts, ({ delivery }) => delivery);
  return planned
    .filter(({ target }) => target.type === type)
    .map(({ event, target }) => {
      const { pk, sk } = deliveryKey(event, target.id);
      return {
        deliveryId: deliveryId(event, target.id),
        type,
        record: records.get(`${pk} ${sk}`),
        isDeleted: deleted.has(target.id),
        acceptedAtMs: (receiptsByDelivery.get(`${event.number} ${target.key}`) ?? []).map(({ atMs }) => atMs),
      };
    });
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
