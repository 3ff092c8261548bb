import * as z from 'zod';
import { PRICES } from './prices.ts';
import { billOf, sum as sumUnits, total } from './units.ts';

const MONTH_SECONDS = 30 * 86_400;

/** AWS states prices per hour for months of 730 hours. */
const MONTH_HOURS = 730;

/** Lambda polls with the longest wait of SQS. */
const POLL_SECONDS = 20;

/**
 * The pollers of an idle event source. Lambda reduces them to as few as two, but not with a maximum concurrency:
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
 */
const POLLERS = { withMaximumConcurrency: 5, otherwise: 2 } as const;

/** The hours between the calls of a schedule. */
const SCHEDULE_HOURS = new Map([
  ['rate(1 day)', 24],
  ['rate(1 hour)', 1],
  ['rate(5 minutes)', 1 / 12],
]);

/**
 * The cost in USD of a heartbeat after its schedule has sent it: alone in its batches, and as if it always started both
 * functions, which then took 1 s in dispatch (512 MB) and 2 s in the sender (256 MB).
 */
const HEARTBEAT = total(
  billOf(
    sumUnits([
      {
        lambdaRequests: 2,
        lambdaGbSeconds: 1 * 0.5 + 2 * 0.25,
        // The claim and the end of the record.
        dynamoWrites: 2,
        // Its notification in dispatch (eventually consistent) and in the sender, and its account.
        dynamoReads: 0.5 + 1 + 1,
        // Dispatch sends one message. Lambda receives and deletes two.
        sqsRequests: 5,
        sqsFairMessages: 2,
      },
      1,
    ]),
  ),
);

const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
  ),
});
const eventSource = z.object({
  ScalingConfig: z.object({ MaximumConcurrency: z.number() }).optional(),
  /** Only of streams, which Lambda polls for free. */
  StartingPosition: z.string().optional(),
});
const alarm = z.object({
  Metrics: z
    .array(z.union([z.object({ MetricStat: z.unknown() }).required(), z.object({ Expression: z.unknown() })]))
    .optional(),
});
const schedule = z.object({ ScheduleExpression: z.string(), Target: z.object({ Arn: z.unknown() }).optional() });

/** What a stack costs in a month without any traffic, by kind of resource, in USD. */
export type IdleBill = Record<
  | 'polling'
  | 'alarms'
  | 'dashboards'
  | 'keys'
  | 'insightRules'
  | 'schedules'
  | 'heartbeats'
  | 'natGateways'
  | 'publicAddresses',
  number
>;

/** The metrics that the alarms of a template read. Each metric of a Contributor Insights rule counts. */
export const alarmMetricCount = (template: unknown): number =>
  propertiesOf(template, 'AWS::CloudWatch::Alarm').reduce<number>((sum, properties) => {
    const { Metrics } = alarm.parse(properties);
    if (!Metrics) return sum + 1;
    const isPriced = (query: (typeof Metrics)[number]) =>
      'MetricStat' in query || JSON.stringify(query.Expression).includes('INSIGHT_RULE_METRIC');
    return sum + Metrics.filter(isPriced).length;
  }, 0);

/**
 * Returns the monthly bill of an idle stack from its synthesized template, without records, which cost by their number.
 *
 * @throws Error for a schedule of unknown rate
 */
export const idleBill = (template: unknown): IdleBill => {
  const numberOf = (type: string) => propertiesOf(template, type).length;
  const pollers = propertiesOf(template, 'AWS::Lambda::EventSourceMapping')
    .map((properties) => eventSource.parse(properties))
    .filter(({ StartingPosition }) => StartingPosition === undefined)
    .map(({ ScalingConfig }) => (ScalingConfig ? POLLERS.withMaximumConcurrency : POLLERS.otherwise));
  const scheduledCalls = propertiesOf(template, 'AWS::Scheduler::Schedule').map((properties) => {
    const { ScheduleExpression, Target } = schedule.parse(properties);
    const hours = SCHEDULE_HOURS.get(ScheduleExpression);
    if (hours === undefined) throw new Error(`The schedule ${ScheduleExpression} has no price.`);
    return { count: MONTH_SECONDS / 3_600 / hours, isHeartbeat: JSON.stringify(Target?.Arn).includes(':sendMessage') };
  });
  const heartbeats = scheduledCalls.filter(({ isHeartbeat }) => isHeartbeat);
  return {
    polling: sum(pollers) * (MONTH_SECONDS / POLL_SECONDS) * PRICES.sqsRequest,
    alarms: alarmMetricCount(template) * PRICES.alarmMetric,
    dashboards: numberOf('AWS::CloudWatch::Dashboard') * PRICES.dashboard,
    keys: numberOf('AWS::KMS::Key') * PRICES.key,
    insightRules: numberOf('AWS::CloudWatch::InsightRule') * PRICES.insightRule,
    schedules: sum(scheduledCalls.map(({ count }) => count)) * (PRICES.scheduledCall + PRICES.sqsRequest),
    heartbeats: sum(heartbeats.map(({ count }) => count)) * HEARTBEAT,
    natGateways: numberOf('AWS::EC2::NatGateway') * PRICES.natGatewayHour * MONTH_HOURS,
    publicAddresses: numberOf('AWS::EC2::EIP') * PRICES.publicAddressHour * MONTH_HOURS,
  };
};

/** Returns the total of an idle bill in USD. */
export const idleTotal = (bill: IdleBill): number => sum(Object.values(bill));

const propertiesOf = (template: unknown, type: string): Record<string, unknown>[] =>
  Object.values(templateSchema.parse(template).Resources)
    .filter(({ Type }) => Type === type)
    .map(({ Properties }) => Properties);

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
