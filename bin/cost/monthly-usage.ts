import * as z from 'zod';
import { type NotificationTypeId, notificationTypes } from '../../shared/contracts/notification-types.ts';
import { deliveryTotals, EVENTS_RECEIVED } from '../../shared/domain/delivery-metrics.ts';
import { type MeasuredUnits, sum, type Usage, type UsageByBatch } from './units.ts';

/** What alarm events cause. */
export type Load = {
  /** The average number of destinations of an event. */
  destinations: number;
  /** The average number of messages in a batch, from 1 to 10. */
  batch: number;
  /** The share of each type in the destinations. The shares add up to 1. */
  shares: ReadonlyMap<NotificationTypeId, number>;
};

/** The producer sends each event alone. Its group is the tenant (docs/producers.md#send-in-batches). */
const PRODUCER: Usage = { sqsRequests: 1, sqsFairMessages: 1 };

/** A batch costs the same whatever its size, and each of its messages too, so 1 / `batch` is interpolated. */
const inBatches = ({ batchOf1, batchOf10 }: UsageByBatch, batch: number): Usage => {
  const weight = (1 / batch - 1 / 10) / (1 - 1 / 10);
  return sum([batchOf1, weight], [batchOf10, 1 - weight]);
};

/**
 * Returns what an alarm event uses on average, without failed attempts. Each destination after the first costs as much
 * as the second.
 *
 * @throws Error if a type has not been measured
 */
export const usagePerEvent = ({ dispatch, senders }: MeasuredUnits, { destinations, batch, shares }: Load): Usage => {
  const deliveries = [...shares].map(([type, share]): readonly [Usage, number] => {
    const measured = senders[type];
    if (!measured) throw new Error(`The type ${type} has not been measured: run "npm run bench cost".`);
    return [inBatches(measured, batch), share * destinations];
  });
  return sum(
    [PRODUCER, 1],
    [inBatches(dispatch.oneDestination, batch), 2 - destinations],
    [inBatches(dispatch.twoDestinations, batch), destinations - 1],
    ...deliveries,
  );
};

/** Lambda polls with the longest wait of SQS, 20 s. */
const POLLS_PER_HOUR = 180;

/**
 * The pollers of an idle event source. Lambda reduces them to as few as two, but not with a maximum concurrency:
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
 */
const POLLERS = { withMaximumConcurrency: 5, otherwise: 2 } as const;

const MONTH_HOURS = 30 * 24;

/** AWS states prices per hour for months of 730 hours. */
const PRICED_HOURS = 730;

/** The calls of a schedule in a month. */
const SCHEDULED_CALLS = new Map([
  ['rate(1 hour)', MONTH_HOURS],
  ['rate(5 minutes)', MONTH_HOURS * 12],
]);

const templateSchema = z.object({
  Resources: z.record(z.string(), z.object({ Type: z.string(), Properties: z.unknown().optional() })),
});
const eventSource = z.object({
  ScalingConfig: z.object({ MaximumConcurrency: z.number() }).optional(),
  /** Only of streams, which Lambda polls for free. */
  StartingPosition: z.string().optional(),
});
/** An alarm without a list reads one metric. */
const alarm = z.object({ Metrics: z.array(z.object({ Expression: z.unknown().optional() })).default([{}]) });
const schedule = z.object({ ScheduleExpression: z.string(), Target: z.object({ Arn: z.unknown() }).optional() });

/** Returns what a resource uses in a month without any traffic. */
const idleUsageOf = (type: string, properties: unknown): Usage => {
  switch (type) {
    case 'AWS::Lambda::EventSourceMapping': {
      const { ScalingConfig, StartingPosition } = eventSource.parse(properties);
      if (StartingPosition !== undefined) return {};
      return { polls: POLLS_PER_HOUR * MONTH_HOURS * POLLERS[ScalingConfig ? 'withMaximumConcurrency' : 'otherwise'] };
    }
    case 'AWS::CloudWatch::Alarm': {
      const expressions = alarm.parse(properties).Metrics.map(({ Expression }) => JSON.stringify(Expression));
      const priced = expressions.filter((text) => text === undefined || text.includes('INSIGHT_RULE_METRIC'));
      return { alarmMetrics: priced.length };
    }
    case 'AWS::CloudWatch::Dashboard':
      return { dashboards: 1 };
    case 'AWS::CloudWatch::InsightRule':
      return { insightRules: 1 };
    case 'AWS::KMS::Key':
      return { keys: 1 };
    case 'AWS::EC2::NatGateway':
      return { natGatewayHours: PRICED_HOURS };
    case 'AWS::EC2::EIP':
      return { publicAddressHours: PRICED_HOURS };
    case 'AWS::Scheduler::Schedule': {
      const { ScheduleExpression, Target } = schedule.parse(properties);
      const calls = SCHEDULED_CALLS.get(ScheduleExpression);
      if (calls === undefined) throw new Error(`The schedule ${ScheduleExpression} has no price.`);
      const isHeartbeat = JSON.stringify(Target?.Arn).includes(':sendMessage');
      return { scheduledCalls: calls, heartbeats: isHeartbeat ? calls : 0 };
    }
    default:
      return {};
  }
};

/**
 * Returns what an idle stack uses in a month, from its synthesized template, without records, which cost by their number.
 *
 * @throws Error for a schedule of unknown rate
 */
export const idleUsage = (template: unknown): Usage =>
  sum(
    ...Object.values(templateSchema.parse(template).Resources).map(
      ({ Type, Properties }) => [idleUsageOf(Type, Properties), 1] as const,
    ),
  );

/**
 * The size of a delivery record in bytes, with the 100 that DynamoDB bills in addition:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export const RECORD_BYTES = 632 + 100;

/** The bytes of a request to a receiver: a body of 2.5 KB, the headers, and a share of the TLS connection. */
export const REQUEST_BYTES = 4_000;

/** Counts of deliveries and two latencies over all types. One of them has one more metric for each type. */
const TOTAL_METRICS = deliveryTotals.length + 2;

/** Returns what a stack uses in a month of 30 days with this number of events. `template` is the synthesized one. */
export const monthlyUsage = (measured: MeasuredUnits, load: Load, events: number, template: unknown): Usage => {
  const { destinations, batch, shares } = load;
  const used = sum([usagePerEvent(measured, load), events]);
  const deliveries = events * destinations;
  const requests = [...shares].reduce(
    (total, [type, share]) => total + (notificationTypes[type].sendsByHttp ? share * deliveries : 0),
    0,
  );
  const templateJson = JSON.stringify(template);
  const metrics = TOTAL_METRICS + shares.size + (templateJson.includes(`"${EVENTS_RECEIVED}"`) ? 1 : 0);
  const { emails = 0 } = used;
  const ofEvents: Usage = {
    storedGb: (deliveries * RECORD_BYTES) / 1e9,
    internetGb: (requests * REQUEST_BYTES) / 1e9,
    customMetrics: events > 0 ? metrics : 0,
    emailEvents: emails,
    emailEventBatches: emails / batch,
    outcomeBatches: templateJson.includes('"StreamSpecification"') ? deliveries / batch : 0,
  };
  return sum([used, 1], [ofEvents, 1], [idleUsage(template), 1]);
};
