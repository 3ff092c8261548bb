import type { Clock } from '../clock.ts';

const READ_UNIT_BYTES = 4096;
const WRITE_UNIT_BYTES = 1024;

/** Returns the read units of a read; an eventually consistent read consumes half as much. */
export const readUnits = (bytes: number, isConsistent: boolean): number =>
  Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (isConsistent ? 1 : 0.5);

/** Returns the write units of a write; `bytes` is the larger size of the old and the new item. */
export const writeUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));

/** The capacity of one partition key value. */
export type PartitionLimits = {
  readUnitsPerSecond: number;
  writeUnitsPerSecond: number;
};

/** The AWS limits of a partition, which all items of a partition key value share. */
export const AWS_PARTITION_LIMITS: PartitionLimits = { readUnitsPerSecond: 3000, writeUnitsPerSecond: 1000 };

/** Reads and writes have separate limits. */
export type Operation = 'read' | 'write';

type Bucket = {
  units: number;
  /** When `units` was computed, in ms since the epoch. */
  updatedAtMs: number;
};

const MAX_BUCKETS = 10_000;

/**
 * The capacity of each partition key value, without burst or adaptive capacity: a token bucket with the units of one
 * second. A request is admitted while any units are left, so a single large request may overdraw the bucket.
 */
export class PartitionCapacity {
  readonly #limits: PartitionLimits;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(limits: PartitionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Returns whether the key has capacity now. */
  hasCapacity(table: string, partitionKey: string, operation: Operation): boolean {
    return this.#refilled(table, partitionKey, operation).units > 0;
  }

  /** Consumes units of a key. */
  consume(table: string, partitionKey: string, operation: Operation, units: number): void {
    this.#refilled(table, partitionKey, operation).units -= units;
  }

  #refilled(table: string, partitionKey: string, operation: Operation): Bucket {
    const id = `${operation} ${table} ${partitionKey}`;
    const rate = this.#rate(operation);
    const now = this.#clock.now();
    const bucket = this.#buckets.get(id) ?? this.#add(id, { units: rate, updatedAtMs: now });
    bucket.units = Math.min(rate, bucket.units + (rate * (now - bucket.updatedAtMs)) / 1000);
    bucket.updatedAtMs = now;
    return bucket;
  }

  #add(id: string, bucket: Bucket): Bucket {
    if (this.#buckets.size >= MAX_BUCKETS) this.#prune();
    this.#buckets.set(id, bucket);
    return bucket;
  }

  /** Removes full buckets, which are equivalent to new ones. */
  #prune(): void {
    const now = this.#clock.now();
    for (const [id, { units, updatedAtMs }] of this.#buckets) {
      const rate = this.#rate(id.startsWith('read ') ? 'read' : 'write');
      if (units + (rate * (now - updatedAtMs)) / 1000 >= rate) this.#buckets.delete(id);
    }
  }

  #rate(operation: Operation): number {
    return operation === 'read' ? this.#limits.readUnitsPerSecond : this.#limits.writeUnitsPerSecond;
  }
}
