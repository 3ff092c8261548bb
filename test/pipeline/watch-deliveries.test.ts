import type { DynamoDBRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import type { OutgoingMessage } from '../../shared/adapters/queues.ts';
import { deliveryReport } from '../../shared/contracts/delivery-report.ts';
import { failed } from '../../shared/domain/attempt-outcome.ts';
import { type DeliveryRecord, withAttempt, withFailure, withStatus } from '../../shared/domain/delivery-record.ts';
import { createDeliveryWatch } from '../../shared/pipeline/watch-deliveries.ts';
import { deliveryRecord, RECORD_TIME_MS } from '../support/delivery-records.ts';
import { recordMetrics } from '../support/printed-metrics.ts';
import { streamRecord } from '../support/stream-records.ts';

let metrics: ReturnType<typeof recordMetrics>;
beforeEach(() => {
  metrics = recordMetrics();
  vi.spyOn(logger, 'error').mockImplementation(() => undefined);
});
afterEach(() => vi.restoreAllMocks());

const pendingOf = (notificationId: string, eventId: string, tenant = 'acme'): DeliveryRecord =>
  deliveryRecord({ tenant, id: notificationId }, eventId, { status: 'pending', attempt_count: 0, attempts: [] });

let sequence = 0;
const written = (before: DeliveryRecord, after: DeliveryRecord): DynamoDBRecord =>
  streamRecord(before, after, String(++sequence), RECORD_TIME_MS / 1000);

const failedOf = (record: DeliveryRecord) => written(record, withFailure(record, 'opted_out', RECORD_TIME_MS));
const deliveredOf = (record: DeliveryRecord) => written(record, withStatus(record, 'delivered', RECORD_TIME_MS));

/** Invokes the watcher. `refused` tells which messages SQS does not accept. */
const watch = async (
  records: DynamoDBRecord[],
  { hasOutcomes = false, refused = () => false }: { hasOutcomes?: boolean; refused?: (body: string) => boolean } = {},
) => {
  const sent: OutgoingMessage[] = [];
  const sendAll = async <Message extends OutgoingMessage>(_url: string, messages: readonly Message[]) => {
    sent.push(...messages);
    return messages.filter(({ body }) => refused(body()));
  };
  const environment = { REPORTS_QUEUE: 'https://sqs/reports', RETRY_DELAY_SCALE: 1, DELIVERY_OUTCOMES: hasOutcomes };
  const handler = createDeliveryWatch({ sendAll }, environment, () => RECORD_TIME_MS + 60_000);
  const { batchItemFailures } = await handler({ Records: records });
  const reports = sent.map(({ body }) => deliveryReport.parse(JSON.parse(body())));
  return {
    reports,
    groups: sent.map(({ messageGroupId }) => messageGroupId),
    repeated: batchItemFailures.map(({ itemIdentifier }) => itemIdentifier),
  };
};

describe('the watcher of deliveries', () => {
  it('sends one message for each event, and one for the failures of each notification', async () => {
    const [first, second, other] = [pendingOf('ntA', 'one'), pendingOf('ntB', 'one'), pendingOf('ntA', 'two')];
    const attempted = withAttempt(first, failed('permanent', 'http_status', ''), RECORD_TIME_MS, 5);
    const { reports, groups } = await watch([
      written(first, attempted),
      written(attempted, withFailure(attempted, 'http_status', RECORD_TIME_MS + 9)),
      failedOf(second),
      failedOf(other),
    ]);
    const event = { kind: 'event', tenant_id: 'acme', outcomes: [] };
    expect(reports).toEqual([
      {
        ...event,
        sk: first.sk,
        deliveries: [
          { notification_id: 'ntA', happened: 'failed' },
          { notification_id: 'ntB', happened: 'failed' },
        ],
      },
      { ...event, sk: other.sk, deliveries: [{ notification_id: 'ntA', happened: 'failed' }] },
      {
        kind: 'failures',
        tenant_id: 'acme',
        notification_id: 'ntA',
        failed_ids: [expect.stringMatching(/^t85s00/), expect.any(String)],
        first_failed_at_ms: RECORD_TIME_MS,
        last_failed_at_ms: RECORD_TIME_MS + 9,
        last_reason: 'http_status',
      },
      expect.objectContaining({
        kind: 'failures',
        notification_id: 'ntB',
        failed_ids: [expect.stringMatching(/^t85s00/)],
        last_reason: 'opted_out',
      }),
    ]);
    expect(groups).toEqual(Array(4).fill('acme'));
    expect(metrics()).toMatchObject([{ function: 'watch-deliveries', failures_unseen: -4, oldest_record_seconds: 60 }]);
  });

  it('sends outcomes only with the setting', async () => {
    const records = [deliveredOf(pendingOf('ntA', 'one'))];
    expect((await watch(records)).reports).toEqual([]);
    expect((await watch(records, { hasOutcomes: true })).reports).toMatchObject([
      { kind: 'event', deliveries: [], outcomes: [{ status: 'delivered', notification_id: 'ntA' }] },
    ]);
  });

  it('sends nothing for other items, new records and deletions', async () => {
    const record = failedOf(pendingOf('ntA', 'one'));
    const { dynamodb } = record;
    const withKeys = (pk: string, sk: string): DynamoDBRecord => ({
      ...record,
      dynamodb: { ...dynamodb, Keys: { pk: { S: pk }, sk: { S: sk } } },
    });
    const { reports } = await watch([
      { ...record, eventName: 'INSERT' },
      { ...record, eventName: 'REMOVE' },
      withKeys('delivery#ntA#acme', 'incident#1'),
      withKeys('delivery#ntA#acme', 'conflict#1'),
      withKeys('summary#1#acme', '1'),
    ]);
    expect(reports).toEqual([]);
  });

  it('sends the key of a record that it cannot read, and counts it', async () => {
    const { dynamodb, ...record } = failedOf(pendingOf('ntA', 'one'));
    const unreadable = { ...dynamodb, NewImage: { ...dynamodb?.NewImage, status: { S: 'unknown' } } };
    const { NewImage: _, ...withoutImage } = dynamodb ?? {};
    const { reports, repeated } = await watch([
      { ...record, dynamodb: unreadable },
      { ...record, dynamodb: withoutImage },
      {},
    ]);
    const deliveries = Array(2).fill({ notification_id: 'ntA', happened: 'unreadable' });
    expect(reports).toMatchObject([{ kind: 'event', deliveries, outcomes: [] }]);
    expect(repeated).toEqual([]);
    expect(metrics()).toMatchObject([{ internal_errors: 3 }]);
  });

  it('lets Lambda repeat all records from the first that SQS did not accept', async () => {
    const records = ['one', 'two', 'three'].map((id) => failedOf(pendingOf(`nt${id}`, id)));
    const { repeated } = await watch(records, { refused: (body) => body.includes('nttwo') });
    expect(repeated).toEqual([records[1]?.dynamodb?.SequenceNumber]);
    expect(metrics()).toMatchObject([{ internal_errors: 2, failures_unseen: -2 }]);
  });

  it('accepts the records that the AWS CLI prints, whose times are texts', async () => {
    const { dynamodb, ...record } = failedOf(pendingOf('ntA', 'one'));
    const printed = { ...record, dynamodb: { ...dynamodb, ApproximateCreationDateTime: '2026-01-01T00:00:00+00:00' } };
    const { reports } = await watch(JSON.parse(JSON.stringify([printed])));
    expect(reports).toHaveLength(2);
    expect(metrics()).toMatchObject([{ failures_unseen: -1 }]);
    expect(metrics()[0]).not.toHaveProperty('oldest_record_seconds');
  });
});
