import { z } from 'zod';
import { loggingConfig } from './lambda/logging.ts';

/** A kind of resource with its relevant properties. */
export type ResourceType<Properties extends z.ZodType> = {
  types: readonly string[];
  properties: Properties;
};

const resource = <Properties extends z.ZodType>(
  properties: Properties,
  ...types: string[]
): ResourceType<Properties> => ({
  types,
  properties,
});

const lambdaFunction = resource(
  z.object({
    Code: z.object({ S3Key: z.unknown() }),
    Handler: z.string(),
    Timeout: z.number().default(3),
    MemorySize: z.number().default(128),
    Environment: z.object({ Variables: z.record(z.string(), z.unknown()).default({}) }).default({ Variables: {} }),
    LoggingConfig: loggingConfig,
  }),
  'AWS::Lambda::Function',
);

const queue = resource(
  z.object({
    FifoQueue: z.literal(false).optional(),
    VisibilityTimeout: z.number().default(30),
    DelaySeconds: z.number().default(0),
    MessageRetentionPeriod: z.number().default(345_600),
    ReceiveMessageWaitTimeSeconds: z.number().default(0),
    MaximumMessageSize: z.number().default(1_048_576),
    RedrivePolicy: z
      .object({ deadLetterTargetArn: z.unknown(), maxReceiveCount: z.coerce.number().int().min(1) })
      .optional(),
  }),
  'AWS::SQS::Queue',
);

const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));
/** Indexes are not supported. */
const noIndexes = z.undefined().optional();

const table = resource(
  z.object({
    KeySchema: keySchema,
    AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.literal('S') })),
    GlobalSecondaryIndexes: noIndexes,
    LocalSecondaryIndexes: noIndexes,
  }),
  'AWS::DynamoDB::Table',
);

const topic = resource(z.object({}), 'AWS::SNS::Topic');

const eventSource = resource(
  z.object({
    FunctionName: z.unknown(),
    EventSourceArn: z.unknown(),
    BatchSize: z.number().default(10),
    MaximumBatchingWindowInSeconds: z.number().default(0),
    ScalingConfig: z.object({ MaximumConcurrency: z.number() }).default({ MaximumConcurrency: 5 }),
    FunctionResponseTypes: z.array(z.string()).default([]),
  }),
  'AWS::Lambda::EventSourceMapping',
);

const RATE = /^rate\((\d+) (minute|hour|day)s?\)$/;
const UNITS_MS = new Map([
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
]);

/** An expression such as `rate(5 minutes)`, in ms. */
const rateMs = z
  .string()
  .regex(RATE)
  .transform((expression) => {
    const [, count, unit = ''] = RATE.exec(expression) ?? [];
    return Number(count) * (UNITS_MS.get(unit) ?? 0);
  });

const schedule = resource(
  z.object({
    ScheduleExpression: rateMs,
    State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
    FlexibleTimeWindow: z.object({ Mode: z.literal('OFF') }),
    Target: z.object({ Arn: z.unknown(), Input: z.unknown(), RoleArn: z.unknown() }),
  }),
  'AWS::Scheduler::Schedule',
);

const route = resource(z.object({ RouteKey: z.string(), Target: z.unknown() }), 'AWS::ApiGatewayV2::Route');

const integration = resource(
  z.object({
    IntegrationUri: z.unknown(),
    PayloadFormatVersion: z.literal('2.0'),
    TimeoutInMillis: z.number().default(30_000),
  }),
  'AWS::ApiGatewayV2::Integration',
);

/**
 * The supported resource types. Each has a schema of the properties that it uses, with the defaults of CloudFormation.
 */
export const resourceTypes = { lambdaFunction, queue, table, topic, eventSource, schedule, route, integration };
