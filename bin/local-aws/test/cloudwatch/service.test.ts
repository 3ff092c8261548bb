import { CloudWatchClient, GetMetricDataCommand } from '@aws-sdk/client-cloudwatch';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MetricStore } from '../../cloudwatch/metric-store.ts';
import { cloudWatchService } from '../../cloudwatch/service.ts';
import { startEndpoint, type TestEndpoint } from '../support/endpoint.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 10, 1);
const metric = { namespace: 'Service', name: 'latency', dimensions: { service: 'Prod' } };

let local: TestEndpoint;
let client: CloudWatchClient;
beforeEach(async () => {
  const store = new MetricStore();
  const put = (value: number, timestampMs: number) => store.put({ metric, value, timestampMs });
  for (const value of [100, 60_000, 60_001, 400_000]) put(value, START_MS + 1_000);
  put(5, START_MS + 2 * DAY_MS);
  local = await startEndpoint({ monitoring: cloudWatchService(store) });
  client = new CloudWatchClient(local.client);
});
afterEach(async () => {
  client.destroy();
  await local.stop();
});

const read = (Stat: string, Value = 'Prod') =>
  client.send(
    new GetMetricDataCommand({
      StartTime: new Date(START_MS),
      EndTime: new Date(START_MS + 3 * DAY_MS),
      ScanBy: 'TimestampAscending',
      MetricDataQueries: [
        {
          Id: 'm',
          MetricStat: {
            Metric: { Namespace: 'Service', MetricName: 'latency', Dimensions: [{ Name: 'service', Value }] },
            Period: 86_400,
            Stat,
          },
        },
      ],
    }),
  );

it.each([
  ['SampleCount', [4, 1]],
  ['p50', [60_000, 5]],
  ['PR(:60000)', [50, 100]],
  ['PR(:10)', [0, 100]],
])('GetMetricData returns %s of each day that has values', async (stat, values) => {
  const { MetricDataResults } = await read(stat);
  expect(MetricDataResults).toMatchObject([
    { Id: 'm', Values: values, Timestamps: [new Date(START_MS), new Date(START_MS + 2 * DAY_MS)] },
  ]);
});

it('GetMetricData returns no values of a metric with other dimensions', async () => {
  expect((await read('Sum', 'Other')).MetricDataResults).toMatchObject([{ Id: 'm', Values: [] }]);
});
