import { z } from 'zod';
import { filterCriteria } from './lambda/event-filter.ts';
import { loggingConfig } from './lambda/logging.ts';

/** A type of resource with a schema of its relevant properties. */
export type ResourceType<Properties extends z.ZodType> = { type: string; properties: Properties };

/** A property with an effect that the local AWS lacks. */
const unsupported = z.undefined().optional();

const lambdaFunction = {
  type: 'AWS::Lambda::Function',
  properties: z.object({
    Code: z.object({ S3Key: z.unknown() }),
    Handler: z.string(),
    Timeout: z.number().default(3),
    MemorySize: z.number().default(128),
    Environment: z.object({ Variables: z.record(z.string(), z.unknown()).default({}) }).default({ Variables: {} }),
    LoggingConfig: loggingConfig,
  }),
};

const queue = {
  type: 'AWS::SQS::Queue',
  properties: z.object({
    FifoQueue: unsupported,
    DelaySeconds: unsupported,
    ReceiveMessageWaitTimeSeconds: unsupported,
    MaximumMessageSize: unsupported,
    VisibilityTimeout: z.number().default(30),
    MessageRetentionPeriod: z.number().default(345_600),
    RedrivePolicy: z
      .object({ deadLetterTargetArn: z.unknown(), maxReceiveCount: z.coerce.number().int().min(1) })
      .optional(),
  }),
};

const table = {
  type: 'AWS::DynamoDB::Table',
  properties: z.object({
    KeySchema: z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) })),
    AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.literal('S') })),
    StreamSpecification: z.object({ StreamViewType: z.literal('NEW_AND_OLD_IMAGES') }).optional(),
    GlobalSecondaryIndexes: unsupported,
    LocalSecondaryIndexes: unsupported,
  }),
};

const topic = { type: 'AWS::SNS::Topic', properties: z.object({}) };

/** A queue, which gets each message as it is published. */
const subscription = {
  type: 'AWS::SNS::Subscription',
  properties: z.object({
    TopicArn: z.unknown(),
    Endpoint: z.unknown(),
    RawMessageDelivery: z.literal(true),
    FilterPolicy: unsupported,
  }),
};

/** Where SES publishes events: a topic. */
const emailDestination = {
  type: 'AWS::SES::ConfigurationSetEventDestination',
  properties: z.object({
    ConfigurationSetName: z.unknown(),
    EventDestination: z.object({
      MatchingEventTypes: z.array(z.string()),
      SnsDestination: z.object({ TopicARN: z.unknown() }),
    }),
  }),
};

const eventSource = {
  type: 'AWS::Lambda::EventSourceMapping',
  properties: z.object({
    FunctionName: z.unknown(),
    EventSourceArn: z.unknown(),
    BatchSize: z.number().default(10),
    MaximumBatchingWindowInSeconds: z.number().default(0),
    ScalingConfig: z.object({ MaximumConcurrency: z.number() }).default({ MaximumConcurrency: 5 }),
    FunctionResponseTypes: z.array(z.string()).default([]),
    FilterCriteria: unsupported,
  }),
};

/** An event source mapping of a stream, which has a starting position. */
const streamSource = {
  type: eventSource.type,
  properties: z.object({
    FunctionName: z.unknown(),
    EventSourceArn: z.unknown(),
    BatchSize: z.number().default(100),
    MaximumBatchingWindowInSeconds: z.number().default(0),
    FunctionResponseTypes: z.array(z.string()).default([]),
    FilterCriteria: filterCriteria.default({ Filters: [] }),
    BisectBatchOnFunctionError: z.boolean().default(false),
    MaximumRecordAgeInSeconds: z.number().min(60).optional(),
    MaximumRetryAttempts: unsupported,
    ParallelizationFactor: z.number().default(1),
    DestinationConfig: z.object({ OnFailure: z.object({ Destination: z.unknown() }) }).optional(),
  }),
};

/** An expression such as `rate(5 minutes)`, in ms. */
const rateMs = z
  .string()
  .regex(/^rate\(\d+ (minute|hour|day)s?\)$/)
  .transform((rate) => {
    const unitMs = rate.includes('day') ? 86_400_000 : rate.includes('hour') ? 3_600_000 : 60_000;
    return Number(/\d+/.exec(rate)) * unitMs;
  });

const schedule = {
  type: 'AWS::Scheduler::Schedule',
  properties: z.object({
    ScheduleExpression: rateMs,
    State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
    FlexibleTimeWindow: z.object({ Mode: z.literal('OFF') }),
    Target: z.object({ Arn: z.unknown(), Input: z.unknown(), RoleArn: z.unknown() }),
  }),
};

const route = {
  type: 'AWS::ApiGatewayV2::Route',
  properties: z.object({ RouteKey: z.string(), Target: z.unknown() }),
};

const integration = {
  type: 'AWS::ApiGatewayV2::Integration',
  properties: z.object({
    IntegrationUri: z.unknown(),
    PayloadFormatVersion: z.literal('2.0'),
    TimeoutInMillis: z.number().default(30_000),
  }),
};

/** The supported resource types, with the defaults of CloudFormation. */
export const resourceTypes = {
  lambdaFunction,
  queue,
  table,
  topic,
  subscription,
  emailDestination,
  eventSource,
  streamSource,
  schedule,
  route,
  integration,
};
