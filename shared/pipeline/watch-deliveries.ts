import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Context, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import * as z from 'zod/mini';
import { parseRecord } from '../adapters/deliveries/stored-record.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { emitMetrics, oldestAgeSeconds } from '../adapters/metrics.ts';
import type { Queues } from '../adapters/queues.ts';
import type { DeliveryRecord } from '../contracts/delivery-record.ts';
import type { DeliveryHappening, DeliveryOutcome, DeliveryReport } from '../contracts/delivery-report.ts';
import { changeOf, type Failure } from '../domain/delivery-change.ts';
import { type DeliveryKey, hashPart, parseDeliveryPartition } from '../domain/delivery-key.ts';
import type { Clock } from '../domain/time.ts';
import type { ParsedEnvironment } from '../environment.ts';
import { reportMessage } from './report-messages.ts';

const image = z.custom<Parameters<typeof unmarshall>[0]>((value) => typeof value === 'object' && value !== null);

const keys = z.object({ pk: z.object({ S: z.string() }), sk: z.object({ S: z.string() }) });

const streamRecord = z.object({
  eventName: z.enum(['INSERT', 'MODIFY', 'REMOVE']),
  dynamodb: z.object({
    Keys: keys,
    OldImage: z.optional(image),
    NewImage: z.optional(image),
  }),
});

export type RecordChange = { before: DeliveryRecord; after: DeliveryRecord };

/** Conflicts and incident locks have the partition keys of records. Sort keys of records start with digits. */
const isDelivery = (pk: string, sk: string): boolean => pk.startsWith('delivery#') && /^\d/.test(sk);

export const deliveryKeyOf = (record: { dynamodb?: { Keys?: unknown } | undefined }): DeliveryKey | undefined => {
  const { data } = keys.safeParse(record.dynamodb?.Keys);
  return data && isDelivery(data.pk.S, data.sk.S) ? { pk: data.pk.S, sk: data.sk.S } : undefined;
};

/** Returns undefined for another item, a new record and a deletion. @throws Error if it is invalid */
export const parseStreamRecord = (record: unknown): RecordChange | undefined => {
  const { eventName, dynamodb } = streamRecord.parse(record);
  const { Keys, OldImage, NewImage } = dynamodb;
  if (eventName !== 'MODIFY' || !isDelivery(Keys.pk.S, Keys.sk.S)) return undefined;
  if (!OldImage || !NewImage) throw new Error('The stream record has no images.');
  return { before: parseRecord(unmarshall(OldImage)), after: parseRecord(unmarshall(NewImage)) };
};

type Change = DeliveryKey & {
  index: number;
  happened: DeliveryHappening | undefined;
  failure: Failure | undefined;
  outcome: DeliveryOutcome | undefined;
};

/** A message, the index of the first stream record that it comes from, and the number of failures that it is about. */
type Report = { index: number; report: DeliveryReport; failures: number };

const eventReport = (changes: readonly Change[]): Report[] => {
  const deliveries = changes.flatMap(({ pk, happened }) =>
    happened ? [{ notification_id: parseDeliveryPartition(pk).id, happened }] : [],
  );
  const outcomes = changes.flatMap(({ outcome }) => outcome ?? []);
  const [first] = changes;
  if (!first || deliveries.length + outcomes.length === 0) return [];
  const { tenant } = parseDeliveryPartition(first.pk);
  const report = { kind: 'event', tenant_id: tenant, sk: first.sk, deliveries, outcomes } as const;
  return [{ index: first.index, report, failures: 0 }];
};

/** Returns a short ID of a failure, the same if its stream record is repeated. It sorts by time. */
const failureId = ({ sk, timeMs }: DeliveryKey & Failure): string =>
  `${Math.floor(timeMs / 1000).toString(36)}${hashPart({ sk }).slice(0, 6)}`;

const failuresReport = (changes: readonly Change[]): Report[] => {
  const failures = changes
    .flatMap(({ index, pk, sk, failure }) => (failure ? [{ index, pk, sk, ...failure }] : []))
    .sort((one, other) => one.timeMs - other.timeMs);
  const [first, last] = [failures[0], failures.at(-1)];
  if (!first || !last) return [];
  const { tenant, id: notificationId } = parseDeliveryPartition(first.pk);
  const report = {
    kind: 'failures',
    tenant_id: tenant,
    notification_id: notificationId,
    failed_ids: failures.filter(({ isFirst }) => isFirst).map(failureId),
    first_failed_at_ms: first.timeMs,
    last_failed_at_ms: last.timeMs,
    last_reason: last.reason,
  } as const;
  return [{ index: Math.min(...failures.map(({ index }) => index)), report, failures: failures.length }];
};

const tenantOf = ({ pk }: DeliveryKey): string => parseDeliveryPartition(pk).tenant;

const reportsOf = (changes: readonly Change[]): Report[] => [
  ...[...Map.groupBy(changes, (change) => `${change.sk} ${tenantOf(change)}`).values()].flatMap(eventReport),
  ...[...Map.groupBy(changes, ({ pk }) => pk).values()].flatMap(failuresReport),
];

/** Seconds; a text in the output of the AWS CLI, which operators repeat (docs/runbook.md#failures-are-not-reported). */
const createdAtMs = ({ dynamodb }: DynamoDBRecord): number[] => {
  const seconds = Number(dynamodb?.ApproximateCreationDateTime);
  return Number.isFinite(seconds) ? [seconds * 1000] : [];
};

/**
 * Creates the handler that sends what the stream of the Deliveries table says to the queue of reports
 * (docs/decisions/notices.md#stream). It makes no other calls: whatever fails here delays all later records of the
 * shard. Of a record that cannot be read, it sends the key.
 */
export const createDeliveryWatch =
  (
    queues: Pick<Queues, 'sendAll'>,
    {
      REPORTS_QUEUE: url,
      RETRY_DELAY_SCALE: scale,
      DELIVERY_OUTCOMES: hasOutcomes,
    }: ParsedEnvironment<'watch-deliveries'>,
    clock: Clock = Date.now,
  ) =>
  async ({ Records: records }: DynamoDBStreamEvent, context?: Context): Promise<DynamoDBBatchResponse> => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    let unreadable = 0;

    const unreadableChange = (record: DynamoDBRecord, index: number, error: unknown): Change[] => {
      unreadable++;
      const key = deliveryKeyOf(record);
      logger.error('stream record invalid', { stream_record_id: record.eventID, ...errorTrace(error) });
      return key ? [{ ...key, index, happened: 'unreadable', failure: undefined, outcome: undefined }] : [];
    };

    const changes = records.flatMap((record, index): Change[] => {
      try {
        const images = parseStreamRecord(record);
        const change = images && changeOf(images.before, images.after, scale);
        if (!images || !change) return [];
        const { pk, sk } = images.after;
        return [{ pk, sk, index, ...change, outcome: hasOutcomes ? change.outcome : undefined }];
      } catch (error) {
        return unreadableChange(record, index, error);
      }
    });
    const messages = reportsOf(changes).map(({ report, ...rest }) => ({ ...rest, ...reportMessage(report) }));
    const unsent = await queues.sendAll(url, messages);
    const oldestSeconds = oldestAgeSeconds(records.flatMap(createdAtMs), clock());
    emitMetrics(
      {
        failures_unseen: messages
          .filter((message) => !unsent.includes(message))
          .reduce((sum, { failures }) => sum - failures, 0),
        oldest_record_seconds: oldestSeconds,
        internal_errors: unsent.length + unreadable,
        oldest_unprocessed_seconds: unsent.length > 0 ? oldestSeconds : 0,
      },
      { function: 'watch-deliveries' },
    );
    // Lambda repeats all records from the first failure on. An empty identifier fails the whole batch.
    const first = records[Math.min(...unsent.map(({ index }) => index))];
    return { batchItemFailures: first ? [{ itemIdentifier: first.dynamodb?.SequenceNumber ?? '' }] : [] };
  };
