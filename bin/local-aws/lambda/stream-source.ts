import { z } from 'zod';
import type { Clock } from '../clock.ts';
import type { StreamRecord } from '../dynamodb/table-stream.ts';
import { type filterCriteria, passesFilters } from './event-filter.ts';
import type { InvocationResult } from './execution-environment-pool.ts';

/** An event source of the template that is the stream of a table. */
export type StreamSourceSettings = {
  functionName: string;
  streamArn: string;
  batchSize: number;
  /** How many batches are processed concurrently. The records of an item stay in order. */
  parallelizationFactor: number;
  /** The batching window. */
  windowSeconds: number;
  filters: z.infer<typeof filterCriteria>;
  reportsFailures: boolean;
  /** Whether a batch is split in two after the function fails. */
  bisects: boolean;
  /** Older records are given up; undefined for no limit. */
  maxAgeSeconds: number | undefined;
  /** The queue that gets a message about records that are given up. */
  failureQueueArn: string | undefined;
};

/** Options of a stream source. */
export type StreamSourceOptions = {
  source: StreamSourceSettings;
  clock: Clock;
  invoke: (event: string) => Promise<InvocationResult>;
  /** Called with a message about records that are given up. */
  sendFailure: (body: string) => void;
};

/** The delay before a batch is repeated doubles up to a minute. AWS does not document it. */
const [MIN_RETRY_MS, MAX_RETRY_MS] = [1_000, 60_000];

const batchResponse = z
  .object({ batchItemFailures: z.array(z.object({ itemIdentifier: z.string() })).nullish() })
  .nullable();

/** Returns the records of a batch that are repeated: all from the first failure on. */
const unprocessed = (
  records: readonly StreamRecord[],
  { failed, payload }: InvocationResult,
  reportsFailures: boolean,
): readonly StreamRecord[] => {
  if (failed) return records;
  if (!reportsFailures) return [];
  const response = batchResponse.safeParse(JSON.parse(payload));
  if (!response.success) return records;
  const failures = (response.data?.batchItemFailures ?? []).map(({ itemIdentifier }) =>
    records.findIndex(({ dynamodb }) => dynamodb.SequenceNumber === itemIdentifier),
  );
  // An unknown identifier fails the whole batch.
  return failures.length === 0 ? [] : records.slice(Math.max(0, Math.min(...failures)));
};

/** The message that Lambda sends to the destination of failures: where the records are, without their content. */
const failureMessage = (
  { functionName, streamArn }: StreamSourceSettings,
  records: readonly StreamRecord[],
  timeMs: number,
): string =>
  JSON.stringify({
    requestContext: { functionArn: functionName, condition: 'RecordAgeExceeded' },
    version: '1.0',
    timestamp: new Date(timeMs).toISOString(),
    DDBStreamBatchInfo: {
      shardId: 'shardId-local',
      startSequenceNumber: records.at(0)?.dynamodb.SequenceNumber,
      endSequenceNumber: records.at(-1)?.dynamodb.SequenceNumber,
      batchSize: records.length,
      streamArn,
    },
  });

/** The records that are processed in order. */
type Lane = { records: StreamRecord[]; running: Promise<void> | undefined };

const laneIndex = ({ dynamodb }: StreamRecord, laneCount: number): number =>
  [...JSON.stringify(dynamodb.Keys)].reduce((hash, text) => (hash * 31 + text.charCodeAt(0)) % 65_521, 0) % laneCount;

/**
 * Passes the records of a stream to its function, those of an item in order, until it is stopped. The stream has one
 * shard.
 */
export class StreamSource {
  readonly #options: StreamSourceOptions;
  readonly #stopped = new AbortController();
  readonly #lanes: readonly Lane[];

  constructor(options: StreamSourceOptions) {
    this.#options = options;
    const length = options.source.parallelizationFactor;
    this.#lanes = Array.from({ length }, () => ({ records: [], running: undefined }));
  }

  readonly append = (record: StreamRecord): void => {
    if (!passesFilters(this.#options.source.filters, record)) return;
    const lane = this.#lanes[laneIndex(record, this.#lanes.length)];
    lane?.records.push(record);
    if (lane) lane.running ??= this.#run(lane);
  };

  /** Whether no record waits or is being processed. */
  get isIdle(): boolean {
    return this.#lanes.every(({ running }) => running === undefined);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#lanes.map(({ running }) => running));
  }

  async #run(lane: Lane): Promise<void> {
    const { batchSize, windowSeconds } = this.#options.source;
    while (lane.records.length > 0 && !this.#stopped.signal.aborted) {
      if (lane.records.length < batchSize) await this.#wait(windowSeconds * 1000);
      await this.#process(lane.records.splice(0, batchSize));
    }
    lane.running = undefined;
  }

  /** Passes a batch to the function until all records are processed or too old. */
  async #process(batch: readonly StreamRecord[]): Promise<void> {
    const { source, invoke } = this.#options;
    let waitMs = MIN_RETRY_MS;
    for (let rest = this.#giveUpOld(batch); rest.length > 0 && !this.#stopped.signal.aborted; ) {
      const result = await invoke(JSON.stringify({ Records: rest }));
      const repeated = unprocessed(rest, result, source.reportsFailures);
      if (repeated.length === 0) return;
      await this.#wait(waitMs);
      if (result.failed && source.bisects && rest.length > 1) {
        const middle = Math.ceil(rest.length / 2);
        await this.#process(rest.slice(0, middle));
        return this.#process(rest.slice(middle));
      }
      waitMs = repeated.length < rest.length ? MIN_RETRY_MS : Math.min(2 * waitMs, MAX_RETRY_MS);
      rest = this.#giveUpOld(repeated);
    }
  }

  /** Returns the records that are not too old. */
  #giveUpOld(records: readonly StreamRecord[]): readonly StreamRecord[] {
    const { source, clock, sendFailure } = this.#options;
    const { maxAgeSeconds = Number.POSITIVE_INFINITY } = source;
    const oldestSeconds = clock.now() / 1000 - maxAgeSeconds;
    const isOld = ({ dynamodb }: StreamRecord) => dynamodb.ApproximateCreationDateTime < oldestSeconds;
    const old = records.filter(isOld);
    if (old.length > 0) sendFailure(failureMessage(source, old, clock.now()));
    return records.filter((record) => !isOld(record));
  }

  /** Waits by the clock, or until the source is stopped. */
  #wait(ms: number): Promise<void> {
    const { signal } = this.#stopped;
    if (ms <= 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, resolve);
      signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }
}
