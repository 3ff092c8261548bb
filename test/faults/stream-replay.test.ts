import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { newAlarmEvent } from '../support/events.ts';
import { startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { useFaultyStack } from './support.ts';

const WATCHER = 'Reports-watch-deliveries';
const CONTACTS = 'ntTechnicalContactsEmail';

const harness = useFaultyStack();
const sink = useStarted(
  () => startSink((response) => response.writeHead(410).end()),
  ({ close }) => close(),
);

const batch = z.object({
  Records: z.array(z.looseObject({ dynamodb: z.looseObject({ SequenceNumber: z.string() }) })),
});
/** Writes a record as `aws dynamodbstreams get-records` does, which has neither Lambda's ARN nor its time in seconds. */
const asAwsCli = ({ eventSourceARN: _, dynamodb, ...record }: z.infer<typeof batch>['Records'][number]) => ({
  ...record,
  dynamodb: { ...dynamodb, ApproximateCreationDateTime: '2026-11-28T04:00:00+00:00' },
});

/** Everything else that the stream contains between the records of failures: filters of Lambda do not apply. */
const otherRecords = async () => {
  const { Items = [] } = await harness.documents.send(new ScanCommand({ TableName: harness.table('Deliveries') }));
  return Items.map((item) => ({
    eventID: 'other',
    eventName: 'INSERT',
    dynamodb: { Keys: marshall({ pk: item.pk, sk: item.sk }), NewImage: marshall(item), SequenceNumber: '1' },
  }));
};

it('failures that the watcher gave up are reported once when their records are repeated as in the runbook', async () => {
  const { lambda } = harness.stack;
  const invoke = lambda.invoke.bind(lambda);
  const records: z.infer<typeof batch>['Records'] = [];
  lambda.invoke = async (name, event) => {
    if (name !== WATCHER) return invoke(name, event);
    records.push(...batch.parse(JSON.parse(event)).Records);
    return { failed: true, payload: '', requestId: 'failed' };
  };
  const client = await harness.newClient();
  await client.put('/account', { technical_contacts: ['oncall@example.com'] });
  const gone = await client.create({ label: 'gone', type: 'webhook', details: { url: sink.url } });
  const pager = await client.create({
    label: 'pager',
    type: 'incidentpager',
    details: { service_key: 'k'.repeat(32) },
  });
  await harness.sendEvents([newAlarmEvent(client.tenant, [gone, pager])]);
  await harness.advanceUntil(harness.endedDeliveries(client.tenant, gone, 1));
  await until(async () => records.length > 0);
  const notices = () => harness.deliveries(client.tenant, CONTACTS);
  expect(await notices()).toEqual([]);

  const payload = JSON.stringify({
    Records: [...(await otherRecords()), ...records.map(asAwsCli)],
    NextShardIterator: 'n',
  });
  const replay = async () => JSON.parse((await invoke(WATCHER, payload)).payload);
  expect(await replay()).toEqual({ batchItemFailures: [] });
  const reported = await harness.advanceUntil(
    until(async () => {
      const all = await notices();
      return all.length > 0 && all;
    }),
  );
  await replay();
  await harness.drainQueue('Delivery-Reports');
  expect((await notices()).map(({ event_id }) => event_id)).toEqual(reported.map(({ event_id }) => event_id));
  expect(harness.lines.join('\n')).not.toContain('stream record invalid');
});
