import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Table } from '../../dynamodb/table.ts';
import { type StreamRecord, watchTable } from '../../dynamodb/table-stream.ts';
import { Tables } from '../../dynamodb/tables.ts';
import { filterCriteria } from '../../lambda/event-filter.ts';
import type { InvocationResult } from '../../lambda/execution-environment-pool.ts';
import { StreamSource, type StreamSourceSettings } from '../../lambda/stream-source.ts';
import { ManualClock } from '../support/manual-clock.ts';

const streamArn = 'arn:aws:dynamodb:us-east-1:000000000000:table/things/stream/local';

const patterns = (...given: object[]) =>
  filterCriteria.parse({ Filters: given.map((each) => ({ Pattern: JSON.stringify(each) })) });

const success: InvocationResult = { requestId: 'r', payload: 'null', failed: false };
const crash: InvocationResult = { requestId: 'r', payload: '{}', failed: true };

/** Starts a table with a stream whose function returns `respond`. */
const start = (
  respond: (texts: string[], records: StreamRecord[]) => InvocationResult,
  changes: Partial<StreamSourceSettings> = {},
) => {
  const clock = new ManualClock();
  const tables = new Tables();
  const table: Table = tables.create({ name: 'things', partition: { name: 'pk', type: 'S' } });
  const batches: string[][] = [];
  const failures: unknown[] = [];
  const source = new StreamSource({
    source: {
      functionName: 'publish',
      streamArn,
      batchSize: 3,
      parallelizationFactor: 1,
      windowSeconds: 0,
      filters: patterns(),
      reportsFailures: true,
      bisects: true,
      maxAgeSeconds: 3_600,
      failureQueueArn: undefined,
      ...changes,
    },
    clock,
    invoke: async (event) => {
      const { Records } = z.object({ Records: z.array(z.custom<StreamRecord>()) }).parse(JSON.parse(event));
      const texts = Records.map(({ dynamodb }) => JSON.stringify(dynamodb.NewImage?.text ?? null));
      batches.push(texts);
      return respond(texts, Records);
    },
    sendFailure: (body) => void failures.push(JSON.parse(body)),
  });
  const records: StreamRecord[] = [];
  watchTable(streamArn, tables, clock, (record) => {
    records.push(record);
    source.append(record);
  });
  const put = (text: string, pk = 'a') =>
    tables.write([
      { table, put: { key: { partition: pk, sort: '' }, item: { pk: { S: pk }, text: { S: text } }, bytes: 1 } },
    ]);
  const remove = () => tables.write([{ table, delete: { partition: 'a', sort: '' } }]);
  const settle = async (seconds = 0) => {
    for (let second = 0; second <= seconds; second++) {
      for (let index = 0; index < 10; index++) await turn();
      if (second < seconds) clock.advance(1);
    }
  };
  return { put, remove, settle, source, batches, failures, records };
};

const quoted = (...texts: string[]) => texts.map((text) => JSON.stringify({ S: text }));

it('the stream of a table has the images before and after each write that changes an item', () => {
  const { put, remove, records } = start(() => success);
  put('one');
  put('one');
  put('two');
  remove();
  const [one, two] = ['one', 'two'].map((text) => ({ pk: { S: 'a' }, text: { S: text } }));
  expect(records.map(({ eventName, dynamodb }) => [eventName, dynamodb.OldImage, dynamodb.NewImage])).toEqual([
    ['INSERT', undefined, one],
    ['MODIFY', one, two],
    ['REMOVE', two, undefined],
  ]);
  expect(records[0]?.dynamodb.Keys).toEqual({ pk: { S: 'a' } });
});

describe('the event source of a stream', () => {
  it('passes records in order, in batches, after the window or when a batch is full', async () => {
    const { put, settle, batches } = start(() => success, { windowSeconds: 5 });
    for (const text of ['1', '2', '3', '4']) put(text);
    await settle(5);
    expect(batches).toEqual([quoted('1', '2', '3')]);
    await settle(5);
    expect(batches).toEqual([quoted('1', '2', '3'), quoted('4')]);
  });

  it('passes only records that a filter selects', async () => {
    const image = (text: unknown[]) => ({ dynamodb: { NewImage: { text: { S: text } } } });
    const { put, settle, batches } = start(() => success, {
      filters: patterns(
        { eventName: ['MODIFY'], ...image([{ prefix: 'x' }]) },
        image([{ 'anything-but': ['1', 'x2', 'y'] }]),
        { dynamodb: { OldImage: { text: { S: [{ exists: false }] } }, NewImage: { text: { S: ['y'] } } } },
      ),
    });
    put('1');
    put('x2');
    put('y');
    put('y', 'b');
    put('z', 'b');
    await settle();
    expect(batches.flat()).toEqual(quoted('x2', 'y', 'z'));
  });

  it('repeats records from the first failure on, later each time', async () => {
    let failures = 2;
    const { put, settle, batches } = start((_, records) => {
      failures -= 1;
      const batchItemFailures = [{ itemIdentifier: records[1]?.dynamodb.SequenceNumber ?? '' }];
      return failures < 0 ? success : { ...success, payload: JSON.stringify({ batchItemFailures }) };
    });
    for (const text of ['1', '2', '3']) put(text);
    await settle(1);
    expect(batches).toEqual([quoted('1', '2', '3'), quoted('2', '3')]);
    await settle(1);
    expect(batches).toEqual([quoted('1', '2', '3'), quoted('2', '3'), quoted('3')]);
  });

  it('splits a batch that crashes its function, and gives up records that are too old', async () => {
    const isPoison = (texts: string[]) => texts.includes(quoted('poison').join());
    const { put, settle, batches, failures, records } = start((texts) => (isPoison(texts) ? crash : success), {
      maxAgeSeconds: 60,
    });
    for (const text of ['1', 'poison', '3']) put(text);
    await settle(5);
    expect(batches.slice(0, 4)).toEqual([
      quoted('1', 'poison', '3'),
      quoted('1', 'poison'),
      quoted('1'),
      quoted('poison'),
    ]);
    await settle(120);
    const number = records[1]?.dynamodb.SequenceNumber;
    expect(failures).toMatchObject([
      { DDBStreamBatchInfo: { startSequenceNumber: number, endSequenceNumber: number, batchSize: 1, streamArn } },
      { DDBStreamBatchInfo: { batchSize: 1 } },
    ]);
  });

  it('stops while it waits', async () => {
    const { put, settle, source, batches } = start(() => success, { windowSeconds: 5 });
    put('1');
    await source.stop();
    await settle(10);
    expect(batches).toEqual([]);
  });
});
