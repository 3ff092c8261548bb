import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../../shared/contracts/notification-types.ts';
import { deliveryTotals, EVENTS_RECEIVED } from '../../shared/domain/delivery-metrics.ts';

const LAMBDA_REQUEST = 0.2 / 1e6;
const LAMBDA_GB_SECOND = 0.0000133334;
const SQS_REQUEST = 0.4 / 1e6;
const SQS_FAIR_MESSAGE = 0.1 / 1e6;
const DYNAMO_WRITE = 0.625 / 1e6;
/** For up to ten messages, without their deliveries, which are free to SQS and Lambda. */
const SNS_PUBLISH = 0.5 / 1e6;
/** A short invocation that takes a batch of records, outcomes or email events: assumed, 50 ms with 512 MB. */
const SHORT_INVOCATION = LAMBDA_REQUEST + 0.05 * 0.5 * LAMBDA_GB_SECOND;

/**
 * The units of a bill: the part that has them, and their price in USD, in us-east-1 in 2026 without a free tier. What is
 * priced by time is for a month, unless it is per hour.
 */
const priceList = {
  dynamoWrites: ['tables', DYNAMO_WRITE],
  dynamoReads: ['tables', 0.125 / 1e6],
  sqsRequests: ['queues', SQS_REQUEST],
  /** In addition to a request, for a message with a group ID on a standard queue. */
  sqsFairMessages: ['queues', SQS_FAIR_MESSAGE],
  lambdaRequests: ['functions', LAMBDA_REQUEST],
  lambdaGbSeconds: ['functions', LAMBDA_GB_SECOND],
  logBytes: ['logs', 0.5 / 1e9],
  /** With point-in-time recovery. */
  storedGb: ['records', 0.25 + 0.2],
  /** Out of AWS, of the first 10 TB of a month. */
  internetGb: ['transfer', 0.09],
  /** With values in every hour. */
  customMetrics: ['metrics', 0.3],
  emails: ['email and SMS', 0.1 / 1e3],
  /** One message part in the US, without carrier fees. */
  sms: ['email and SMS', 0.0065],
  /** SES publishes an email event, and its record gets when it was accepted. SQS receives and deletes the batch. */
  emailEvents: ['email events', SNS_PUBLISH + DYNAMO_WRITE],
  emailEventBatches: ['email events', SHORT_INVOCATION + 2 * SQS_REQUEST],
  /** The watcher sends a batch from the stream, which costs nothing, to a queue, whose consumer publishes it. */
  outcomeBatches: ['outcomes', 2 * SHORT_INVOCATION + 3 * SQS_REQUEST + SNS_PUBLISH],
  outcomes: ['outcomes', SQS_FAIR_MESSAGE],
  polls: ['idle: polling', SQS_REQUEST],
  /** Of standard resolution. Each metric of a Contributor Insights rule counts. */
  alarmMetrics: ['idle: alarms', 0.1],
  dashboards: ['idle: dashboard', 3],
  insightRules: ['idle: Contributor Insights', 0.5],
  /** Without rotations: each of the first two adds as much. */
  keys: ['idle: keys', 1],
  /** With the message that the call sends to SQS. */
  scheduledCalls: ['idle: schedules', 1 / 1e6 + SQS_REQUEST],
  /**
   * Beside its scheduled call: alone in its batches, and as if it always started both functions, which then took 1 s in
   * dispatch (512 MB) and 2 s in the sender (256 MB), with 2 writes, 2.5 reads and 5 requests to SQS.
   */
  heartbeats: ['idle: heartbeat', 17.5 / 1e6],
  /** Without the data that it processes. */
  natGatewayHours: ['idle: static egress', 0.045],
  publicAddressHours: ['idle: static egress', 0.005],
} as const satisfies Record<string, readonly [part: string, usd: number]>;

export type Unit = keyof typeof priceList;

export type Part = (typeof priceList)[Unit][0];

export type Usage = Readonly<Partial<Record<Unit, number>>>;

const isUnit = (name: string): name is Unit => Object.hasOwn(priceList, name);

/** The units of the price list, in the order of a bill. */
export const unitNames = Object.keys(priceList).filter(isUnit);

/** Returns the weighted sum of usages, without units that are not used. */
export const sum = (...parts: readonly (readonly [usage: Usage, times: number])[]): Usage => {
  const usage: Partial<Record<Unit, number>> = {};
  for (const unit of unitNames) {
    const used = parts.reduce((total, [each, times]) => total + (each[unit] ?? 0) * times, 0);
    if (used !== 0) usage[unit] = used;
  }
  return usage;
};

/** Returns the bill in USD for a usage: its parts that are not zero. */
export const billOf = (usage: Usage): ReadonlyMap<Part, number> => {
  const bill = new Map<Part, number>();
  for (const unit of unitNames) {
    const [part, usd] = priceList[unit];
    const count = usage[unit] ?? 0;
    if (count !== 0) bill.set(part, (bill.get(part) ?? 0) + count * usd);
  }
  return bill;
};

const usage = z.partialRecord(z.enum(unitNames), z.number());

const byBatch = z.strictObject({ batchOf1: usage, batchOf10: usage });

const schema = z.strictObject({
  version: z.string(),
  date: z.iso.date(),
  awsLatencyMs: z.number(),
  receiverLatencyMs: z.number(),
  /** What an alarm event uses in dispatch, with destinations of different types. */
  dispatch: z.strictObject({ oneDestination: byBatch, twoDestinations: byBatch }),
  /** What a delivery uses in the sender of its type. A type that is new has none. */
  senders: z.partialRecord(z.enum(notificationTypeIds), byBatch),
});

export type UsageByBatch = z.infer<typeof byBatch>;

export type MeasuredUnits = z.infer<typeof schema>;

const FILE = join(import.meta.dirname, 'measured-units.json');

export const readMeasuredUnits = (): MeasuredUnits => schema.parse(JSON.parse(readFileSync(FILE, 'utf8')));

export const writeMeasuredUnits = (measured: MeasuredUnits): void =>
  writeFileSync(FILE, `${JSON.stringify(measured, null, 2)}\n`);

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
 * What an alarm event uses on average, without failed attempts. Each destination after the first costs as much as the
 * second. @throws Error if a type has not been measured
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
 * What an idle stack uses in a month, from its template, without records. @throws Error for a schedule of unknown rate
 */
export const idleUsage = (template: unknown): Usage =>
  sum(
    ...Object.values(templateSchema.parse(template).Resources).map(
      ({ Type, Properties }) => [idleUsageOf(Type, Properties), 1] as const,
    ),
  );

/** The size of a delivery record, with the 100 bytes per item that DynamoDB bills in addition. */
export const RECORD_BYTES = 632 + 100;

/** The bytes of a request to a receiver: a body of 2.5 KB, the headers, and a share of the TLS connection. */
export const REQUEST_BYTES = 4_000;

/** Counts of deliveries, two latencies and the excess of failures over all types. Each type has a latency, and by HTTP the excess. */
const TOTAL_METRICS = deliveryTotals.length + 3;

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
  const byHttp = [...shares.keys()].filter((type) => notificationTypes[type].sendsByHttp);
  const metrics = TOTAL_METRICS + shares.size + byHttp.length + (templateJson.includes(`"${EVENTS_RECEIVED}"`) ? 1 : 0);
  const { emails = 0 } = used;
  const ofEvents: Usage = {
    storedGb: (deliveries * RECORD_BYTES) / 1e9,
    internetGb: (requests * REQUEST_BYTES) / 1e9,
    customMetrics: events > 0 ? metrics : 0,
    emailEvents: emails,
    emailEventBatches: emails / batch,
    ...(templateJson.includes('"DeliveryOutcomesTopicArn"') && {
      outcomes: deliveries,
      outcomeBatches: deliveries / batch,
    }),
  };
  return sum([used, 1], [ofEvents, 1], [idleUsage(template), 1]);
};
