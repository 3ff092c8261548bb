import { z } from 'zod';
import { type AwsResponse, type AwsService, jsonFault } from '../aws-service.ts';
import type { MetricStore } from './metric-store.ts';

const metricDataRequest = z.object({
  /** Epoch seconds. */
  StartTime: z.number(),
  EndTime: z.number(),
  ScanBy: z.enum(['TimestampDescending', 'TimestampAscending']).default('TimestampDescending'),
  MetricDataQueries: z
    .array(
      z.object({
        Id: z.string().regex(/^[a-z]\w*$/),
        MetricStat: z.object({
          Metric: z.object({
            Namespace: z.string(),
            MetricName: z.string(),
            Dimensions: z.array(z.object({ Name: z.string(), Value: z.string() })).default([]),
          }),
          Period: z.int().multipleOf(60),
          Stat: z.string(),
        }),
      }),
    )
    .max(500),
});
type MetricDataRequest = z.infer<typeof metricDataRequest>;

/** Creates Amazon CloudWatch with `GetMetricData` for metrics, without expressions, of which it has the values. */
export const cloudWatchService =
  (store: MetricStore): AwsService =>
  ({ action, body }) => {
    if (action !== 'GetMetricData') return invalid(`The local CloudWatch does not support the action ${action}.`);
    const { data, error } = metricDataRequest.safeParse(JSON.parse(body.toString()));
    if (!data) return invalid(z.prettifyError(error));
    const MetricDataResults = data.MetricDataQueries.map((query) => readMetric(store, data, query));
    return {
      status: 200,
      headers: { 'content-type': 'application/x-amz-json-1.0' },
      body: JSON.stringify({ MetricDataResults, Messages: [] }),
    };
  };

const invalid = (message: string): AwsResponse => jsonFault({ status: 400, type: 'ValidationError', message });

/** Returns a statistic of each period that starts within the requested time and has values. */
const readMetric = (
  store: MetricStore,
  { StartTime, EndTime, ScanBy }: MetricDataRequest,
  { Id, MetricStat: { Metric, Period, Stat } }: MetricDataRequest['MetricDataQueries'][number],
) => {
  const { Namespace: namespace, MetricName: name, Dimensions } = Metric;
  const metric = {
    namespace,
    name,
    dimensions: Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, Value])),
  };
  const points: { timestamp: number; value: number }[] = [];
  for (let timestamp = StartTime; timestamp < EndTime; timestamp += Period) {
    const value = store.statistic(metric, Stat, timestamp * 1000, (timestamp + Period) * 1000);
    if (value !== undefined) points.push({ timestamp, value });
  }
  if (ScanBy === 'TimestampDescending') points.reverse();
  return {
    Id,
    Label: name,
    StatusCode: 'Complete',
    Timestamps: points.map(({ timestamp }) => timestamp),
    Values: points.map(({ value }) => value),
  };
};
