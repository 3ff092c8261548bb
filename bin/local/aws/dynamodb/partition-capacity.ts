import type { Clock } from '../clock.ts';

/** What one partition key value may consume in a second. */
export type PartitionLimits = {
  readUnitsPerSecond: number;
  writeUnitsPerSecond: number;
};

/** The limits of a partition in AWS, which a partition key value with all its items cannot exceed. */
export const AWS_PARTITION_LIMITS: PartitionLimits = { readUnitsPerSecond: 3000, writeUnitsPerSecond: 1000 };

/** What is done to a partition: the two have limits of their own. */
export type Operation = 'read' | 'write';

type Bucket = {
  units: number;
  /** When it held so many units, in milliseconds since the epoch. */
  atMs: number;
};

const MAX_BUCKETS = 10_000;

/**
 * Capacity of each partition key value as a worst case, with neither burst nor adaptive capacity: a token bucket of one
 * second. A request is admitted while anything is left, so a single large one may overdraw.
 */
export class PartitionCapacity {
  readonly #limits: PartitionLimits;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(limits: PartitionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Whether the key can be read or written now. */
  has(table: string, partitionKey: string, operation: Operation): boolean {
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
    const bucket = this.#buckets.get(id) ?? this.#added(id, { units: rate, atMs: now });
    bucket.units = Math.min(rate, bucket.units + (rate * (now - bucket.atMs)) / 1000);
    bucket.atMs = now;
    return bucket;
  }

  #added(id: string, bucket: Bucket): Bucket {
    if (this.#buckets.size >= MAX_BUCKETS) this.#prune();
    this.#buckets.set(id, bucket);
    return bucket;
  }

  /** Forgets buckets of keys that were not used for long enough to be full again: a new bucket is full. */
  #prune(): void {
    const now = this.#clock.now();
    for (const [id, { units, atMs }] of this.#buckets) {
      const rate = this.#rate(id.startsWith('read ') ? 'read' : 'write');
      if (units + (rate * (now - atMs)) / 1000 >= rate) this.#buckets.delete(id);
    }
  }

  #rate(operation: Operation): number {
    return operation === 'read' ? this.#limits.readUnitsPerSecond : this.#limits.writeUnitsPerSecond;
  }
}
