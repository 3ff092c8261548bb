import { z } from 'zod';
import type { TableSettings } from './dynamodb/table-operations.ts';
import type { RouteSettings } from './gateway/routes.ts';
import { textOf } from './intrinsics.ts';
import type { FunctionSettings } from './lambda/environment.ts';
import type { EventSourceSettings } from './lambda/event-source.ts';
import type { StreamSourceSettings } from './lambda/stream-source.ts';
import { type ResourceType, resourceTypes } from './resource-types.ts';
import { type Resources, referencesOf } from './resources.ts';
import type { ScheduleSettings } from './scheduler.ts';
import type { EmailDestination, Subscription } from './ses-events.ts';
import type { QueueSettings } from './sqs/queue.ts';
import { StartError } from './start-error.ts';

export type QueuePlan = QueueSettings & {
  logicalId: string;
  redrive?: { targetArn: string; maxReceiveCount: number };
};

export type Plan = {
  functions: FunctionSettings[];
  queues: QueuePlan[];
  tables: (TableSettings & { logicalId: string })[];
  topicArns: string[];
  /** The queues that are subscribed to topics. */
  subscriptions: Subscription[];
  emailDestinations: EmailDestination[];
  eventSources: EventSourceSettings[];
  streamSources: StreamSourceSettings[];
  schedules: ScheduleSettings[];
  routes: RouteSettings[];
  /** Returns a stack output by name. Throws a `StartError` if there is none. */
  output(name: string): string;
};

/** The external values that a template references. */
export type TemplateContext = {
  endpointUrl: string;
  /** The URL of the HTTP API, without a trailing slash. */
  apiUrl: string;
  /** The directory of a function's bundle, by the key of its code asset. */
  bundle: (codeKey: string) => string;
};

const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.object({
      Type: z.string(),
      Properties: z.record(z.string(), z.unknown()).default({}),
      Metadata: z.object({ 'aws:cdk:path': z.string().optional() }).default({}),
    }),
  ),
  Outputs: z.record(z.string(), z.object({ Value: z.unknown() })).default({}),
});

export const templateResources = (template: unknown): Resources => templateSchema.parse(template).Resources;

/**
 * Reads a synthesized CloudFormation template. Skips unsupported resource types; throws a `StartError` for unsupported
 * properties.
 */
export const readTemplate = (template: unknown, { endpointUrl, apiUrl, bundle }: TemplateContext): Plan => {
  const { Resources: resources, Outputs: outputs } = templateSchema.parse(template);
  const references = referencesOf(resources, { endpointUrl, apiUrl });
  const text = (value: unknown) => textOf(value, references);
  const functions = readEach(
    resources,
    resourceTypes.lambdaFunction,
    (id, properties): FunctionSettings => ({
      name: required(references.ref(id)),
      arn: required(references.attribute(id, 'Arn')),
      directory: bundle(text(properties.Code.S3Key)),
      handler: properties.Handler,
      timeoutSeconds: properties.Timeout,
      memoryMb: properties.MemorySize,
      environment: Object.fromEntries(
        Object.entries(properties.Environment.Variables).map(([key, value]) => [key, text(value)]),
      ),
    }),
  );
  const functionNamed = (value: unknown) => functionIn(functions, text(value));

  return {
    functions,
    queues: readEach(resources, resourceTypes.queue, (id, properties) => ({
      logicalId: id,
      name: required(references.attribute(id, 'QueueName')),
      arn: required(references.attribute(id, 'Arn')),
      url: required(references.ref(id)),
      visibilitySeconds: properties.VisibilityTimeout,
      retentionSeconds: properties.MessageRetentionPeriod,
      ...(properties.RedrivePolicy && {
        redrive: {
          targetArn: text(properties.RedrivePolicy.deadLetterTargetArn),
          maxReceiveCount: properties.RedrivePolicy.maxReceiveCount,
        },
      }),
    })),
    tables: readEach(resources, resourceTypes.table, (id, properties) => ({
      logicalId: id,
      name: required(references.ref(id)),
      keys: properties.KeySchema,
      attributes: properties.AttributeDefinitions,
    })),
    topicArns: readEach(resources, resourceTypes.topic, (id) => required(references.ref(id))),
    subscriptions: readEach(
      resources,
      resourceTypes.subscription,
      (_, { TopicArn, Endpoint }) => ({ topicArn: text(TopicArn), queueArn: text(Endpoint) }),
      ({ Protocol }) => Protocol === 'sqs',
    ),
    emailDestinations: readEach(resources, resourceTypes.emailDestination, (_, properties) => ({
      configurationSet: text(properties.ConfigurationSetName),
      topicArn: text(properties.EventDestination.SnsDestination.TopicARN),
      types: properties.EventDestination.MatchingEventTypes,
    })),
    eventSources: readEach(
      resources,
      resourceTypes.eventSource,
      (_, properties) => ({
        functionName: functionNamed(properties.FunctionName).name,
        queueArn: text(properties.EventSourceArn),
        batchSize: properties.BatchSize,
        windowSeconds: properties.MaximumBatchingWindowInSeconds,
        maxConcurrency: properties.ScalingConfig.MaximumConcurrency,
        reportsFailures: properties.FunctionResponseTypes.includes('ReportBatchItemFailures'),
      }),
      (properties) => !isStream(properties),
    ),
    streamSources: readEach(
      resources,
      resourceTypes.streamSource,
      (_, properties) => ({
        functionName: functionNamed(properties.FunctionName).name,
        streamArn: text(properties.EventSourceArn),
        batchSize: properties.BatchSize,
        parallelizationFactor: properties.ParallelizationFactor,
        windowSeconds: properties.MaximumBatchingWindowInSeconds,
        filters: properties.FilterCriteria,
        reportsFailures: properties.FunctionResponseTypes.includes('ReportBatchItemFailures'),
        bisects: properties.BisectBatchOnFunctionError,
        maxAgeSeconds: properties.MaximumRecordAgeInSeconds,
        failureQueueArn: properties.DestinationConfig && text(properties.DestinationConfig.OnFailure.Destination),
      }),
      isStream,
    ),
    schedules: readEach(resources, resourceTypes.schedule, (id, { ScheduleExpression, State, Target }) => ({
      name: required(references.ref(id)),
      isEnabled: State === 'ENABLED',
      periodMs: ScheduleExpression,
      ...calledApi(text(Target.Arn), text(Target.Input)),
      role: text(Target.RoleArn).split('/').at(-1) ?? '',
    })),
    routes: readEach(resources, resourceTypes.route, (_, { RouteKey, Target }) => {
      const integration = propertiesOf(
        resources,
        resourceTypes.integration,
        text(Target).replace(/^integrations\//, ''),
      );
      return {
        key: RouteKey,
        functionName: functionNamed(integration.IntegrationUri).name,
        timeoutMs: integration.TimeoutInMillis,
      };
    }),
    output(key) {
      if (!outputs[key]) throw new StartError(`The stack has no output ${key}.`);
      return text(outputs[key].Value);
    },
  };
};

/** Only event source mappings of streams have a starting position. */
const isStream = ({ StartingPosition }: Record<string, unknown>): boolean => StartingPosition !== undefined;

/** Returns the result of `read` for each resource of a type that `isRead` selects, in template order. */
const readEach = <Properties extends z.ZodType, Result>(
  resources: Resources,
  type: ResourceType<Properties>,
  read: (logicalId: string, properties: z.infer<Properties>) => Result,
  isRead: (properties: Record<string, unknown>) => boolean = () => true,
): Result[] =>
  Object.entries(resources)
    .filter(([, { Type, Properties }]) => Type === type.type && isRead(Properties))
    .map(([id]) => read(id, propertiesOf(resources, type, id)));

const propertiesOf = <Properties extends z.ZodType>(
  resources: Resources,
  type: ResourceType<Properties>,
  id: string,
): z.infer<Properties> => {
  const parsed = type.properties.safeParse(resources[id]?.Properties);
  if (parsed.success) return parsed.data;
  throw new StartError(`The local stack does not support ${id} (${type.type}): ${z.prettifyError(parsed.error)}`);
};

/** Returns the call of a universal target, such as `arn:aws:scheduler:::aws-sdk:sqs:sendMessage`. */
const calledApi = (arn: string, input: string): Pick<ScheduleSettings, 'service' | 'action' | 'path' | 'input'> => {
  if (arn.endsWith(':aws-sdk:lambda:invoke')) {
    const { FunctionName } = z.object({ FunctionName: z.string() }).parse(JSON.parse(input));
    const path = `/2015-03-31/functions/${FunctionName}/invocations`;
    return { service: 'lambda', action: 'Invoke', path, input: '{}' };
  }
  const [, service, action] = /:aws-sdk:(sqs):(\w+)$/.exec(arn) ?? [];
  if (service === undefined || action === undefined) {
    throw new StartError(`The template has a schedule with the target ${arn}, which the local stack does not support.`);
  }
  return { service, action: action.charAt(0).toUpperCase() + action.slice(1), input };
};

/** Finds a function by name, ARN or integration URI. */
const functionIn = (functions: readonly FunctionSettings[], reference: string): FunctionSettings => {
  const found = functions.find(({ name, arn }) => reference === name || reference.split('/').includes(arn));
  if (!found) throw new StartError(`The template refers to ${reference}, which is not a function of the stack.`);
  return found;
};

const required = (value: string | undefined): string => {
  if (value === undefined) throw new Error('The resource has no name.');
  return value;
};
