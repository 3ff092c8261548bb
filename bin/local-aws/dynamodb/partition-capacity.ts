import type { Clock } from '../clock.ts';

/** Reads and writes have separate limits. */
export type Operation = 'read' | 'write';

/** Returns the read units of a read, one per 4 KB; an eventually consistent read consumes half as much. */
export const readUnits = (bytes: number, isConsistent = false): number =>
  Math.max(1, Math.ceil(bytes / 4096)) * (isConsistent ? 1 : 0.5);

/** Returns the write units of a write, one per KB; `bytes` is the larger size of the old and the new item. */
export const writeUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / 1024));

export type PartitionLimits = {
  readUnitsPerSecond: number;
  writeUnitsPerSecond: number;
};

/** The AWS limits of a partition, which all items of a partition key value share. */
export const AWS_PARTITION_LIMITS: PartitionLimits = { readUnitsPerSecond: 3000, writeUnitsPerSecond: 1000 };

/** `updatedAtMs` is when `units` was computed, in ms since the epoch. */
type Bucket = { rate: number; units: number; updatedAtMs: number };

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
    const known = this.#buckets.get(id);
    if (known) return this.#refill(known);
    const rate = this.#limits[`${operation}UnitsPerSecond`];
    const bucket = { rate, units: rate, updatedAtMs: this.#clock.now() };
    this.#buckets.set(id, bucket);
    return bucket;
  }

  #refill(bucket: Bucket): Bucket {
    const now = this.#clock.now();
    bucket.units = Math.min(bucket.rate, bucket.units + (bucket.rate * (now - bucket.updatedAtMs)) / 1000);
    bucket.updatedAtMs = now;
    return bucket;
  }
}
