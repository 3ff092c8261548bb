import type { DynamoDBRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OutcomeTopic, PublishResult, TopicMessage } from '../../shared/adapters/outcome-topic.ts';
import { withStatus } from '../../shared/domain/delivery-record.ts';
import { createOutcomePublisher } from '../../shared/pipeline/outcome-publisher.ts';
import { deliveryRecord, RECORD_TIME_MS } from '../support/delivery-records.ts';
import { recordMetrics } from '../support/printed-metrics.ts';
import { streamRecord } from '../support/stream-records.ts';

const NOW_MS = RECORD_TIME_MS + 600_000;

let metrics: ReturnType<typeof recordMetrics>;
let batches: (readonly TopicMessage[])[] = [];
let resultOf: (eventId: string) => PublishResult = () => 'published';

beforeEach(() => {
  metrics = recordMetrics();
  batches = [];
  resultOf = () => 'published';
});
afterEach(() => vi.restoreAllMocks());

const eventIdOf = ({ body }: TopicMessage): string => JSON.parse(body).event_id;

const topic: OutcomeTopic = {
  publish: async (messages) => {
    batches.push(messages);
    return messages.map((message) => resultOf(eventIdOf(message)));
  },
};

const deliveredRecord = (number: number): DynamoDBRecord => {
  const record = deliveryRecord({ tenant: 'acme', notificationId: 'nt00000000000000000000OUTCOME' }, `event${number}`, {
    status: 'pending',
    type: 'webhook',
    bounced_recipient_hashes: new Set(['hash']),
  });
  const after = withStatus(record, 'delivered', RECORD_TIME_MS);
  return streamRecord(record, after, String(100 + number), RECORD_TIME_MS / 1000);
};

const publish = async (records: DynamoDBRecord[], to = topic) => {
  const { batchItemFailures } = await createOutcomePublisher(to, 1, () => NOW_MS)({ Records: records });
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
};

describe('the publisher of outcomes', () => {
  it('publishes them with attributes to filter by, ten in a batch', async () => {
    expect(await publish(Array.from({ length: 12 }, (_, index) => deliveredRecord(index)))).toEqual([]);
    expect(batches.map(({ length }) => length)).toEqual([10, 2]);
    const [[first] = []] = batches;
    expect(first?.attributes).toEqual({ tenant_id: 'acme', type: 'webhook', status: 'delivered' });
    expect(JSON.parse(first?.body ?? '')).toMatchObject({ version: 1, event_id: 'event0', status: 'delivered' });
    expect(metrics()).toEqual([]);
  });

  it('publishes nothing for other items, new records and deletions', async () => {
    const record = deliveredRecord(1);
    const { dynamodb } = record;
    const sortKey = (sk: string): DynamoDBRecord => ({
      ...record,
      dynamodb: { ...dynamodb, Keys: { ...dynamodb?.Keys, sk: { S: sk } } },
    });
    const partition = { ...record, dynamodb: { ...dynamodb, Keys: { pk: { S: 'summary#1#acme' }, sk: { S: '1' } } } };
    const records: DynamoDBRecord[] = [
      { ...record, eventName: 'INSERT' },
      { ...record, eventName: 'REMOVE' },
      sortKey('incident#1'),
      sortKey('conflict#1'),
      partition,
    ];
    expect(await publish(records)).toEqual([]);
    expect(batches).toEqual([]);
    expect(metrics()).toEqual([]);
  });

  it.each<[string, OutcomeTopic, string[], number, boolean]>([
    ['from the first that SNS did not accept', topic, ['102'], 2, true],
    ['if SNS fails', { publish: () => Promise.reject(new Error('unavailable')) }, ['101'], 4, true],
    ['if the first one has no sequence number', topic, [''], 2, false],
  ])('lets Lambda repeat all records %s', async (_, to, repeated, internal_errors, isNumbered) => {
    resultOf = (eventId) => (eventId === 'event2' || eventId === 'event4' ? 'failed' : 'published');
    const records = [1, 2, 3, 4].map(deliveredRecord);
    if (!isNumbered) for (const { dynamodb } of records) delete dynamodb?.SequenceNumber;
    expect(await publish(records, to)).toEqual(repeated);
    expect(metrics()).toMatchObject([
      { function: 'publish-outcomes', internal_errors, oldest_unprocessed_seconds: 600 },
    ]);
  });

  it('counts records that are invalid and outcomes that SNS never accepts, and does not repeat them', async () => {
    resultOf = (eventId) => (eventId === 'event3' ? 'rejected' : 'published');
    const { dynamodb, ...record } = deliveredRecord(1);
    const { NewImage: _, ...withoutImage } = dynamodb ?? {};
    const unreadable = { ...dynamodb, NewImage: { ...dynamodb?.NewImage, status: { S: 'unknown' } } };
    const invalid: DynamoDBRecord[] = [{ ...record, dynamodb: withoutImage }, { ...record, dynamodb: unreadable }, {}];
    expect(await publish([...invalid, deliveredRecord(2), deliveredRecord(3)])).toEqual([]);
    expect(batches.flat().map(eventIdOf)).toEqual(['event2', 'event3']);
    expect(metrics()).toMatchObject([{ function: 'publish-outcomes', outcomes_invalid: 4 }]);
  });
});
