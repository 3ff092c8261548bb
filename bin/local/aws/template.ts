import { z } from 'zod';
import type { TableSettings } from './dynamodb.ts';
import type { RouteSettings } from './gateway/routes.ts';
import { StartError } from './http.ts';
import { textOf } from './intrinsics.ts';
import type { FunctionSettings } from './lambda/environment.ts';
import type { EventSourceSettings } from './lambda/event-source.ts';
import { declared, type ResourceType } from './resource-types.ts';
import { type Resources, referencesOf } from './resources.ts';
import type { QueueSettings } from './sqs/queue.ts';

/** A queue to run, with what it does with messages that are received too often. */
export interface QueuePlan extends QueueSettings {
  logicalId: string;
  redrive?: { targetArn: string; maximumReceives: number };
}

/** What the local stack runs: the template with every reference resolved. */
export interface Plan {
  functions: FunctionSettings[];
  queues: QueuePlan[];
  tables: (TableSettings & { logicalId: string })[];
  topicArns: string[];
  eventSources: EventSourceSettings[];
  routes: RouteSettings[];
  /** The value of a stack output, by name. */
  output(name: string): string;
}

/** Where the plan's references lead to. */
export interface Surroundings {
  /** The address of the local AWS endpoint. */
  endpointUrl: string;
  /** The directory of a function's bundle, by the key of its code asset. */
  bundle: (codeKey: string) => string;
}

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

/** The resources of a synthesized CloudFormation template, by logical id. */
export function templateResources(template: unknown): Resources {
  return templateSchema.parse(template).Resources;
}

/** Reads a synthesized CloudFormation template; resource types that nothing here runs are passed over. */
export function readTemplate(template: unknown, { endpointUrl, bundle }: Surroundings): Plan {
  const { Resources: resources, Outputs: outputs } = templateSchema.parse(template);
  const references = referencesOf(resources, endpointUrl);
  const text = (value: unknown) => textOf(value, references);
  const functions = each(
    resources,
    declared.lambdaFunction,
    (id, properties): FunctionSettings => ({
      name: name(references.ref(id)),
      arn: name(references.attribute(id, 'Arn')),
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
    queues: each(resources, declared.queue, (id, properties) => ({
      logicalId: id,
      name: name(references.attribute(id, 'QueueName')),
      arn: name(references.attribute(id, 'Arn')),
      url: name(references.ref(id)),
      visibilitySeconds: properties.VisibilityTimeout,
      delaySeconds: properties.DelaySeconds,
      retentionSeconds: properties.MessageRetentionPeriod,
      waitSeconds: properties.ReceiveMessageWaitTimeSeconds,
      maximumBytes: properties.MaximumMessageSize,
      ...(properties.RedrivePolicy && {
        redrive: {
          targetArn: text(properties.RedrivePolicy.deadLetterTargetArn),
          maximumReceives: properties.RedrivePolicy.maxReceiveCount,
        },
      }),
    })),
    tables: each(resources, declared.table, (id, properties) => ({
      logicalId: id,
      name: name(references.ref(id)),
      keys: properties.KeySchema,
      attributes: properties.AttributeDefinitions,
      globalIndexes: properties.GlobalSecondaryIndexes,
      localIndexes: properties.LocalSecondaryIndexes,
    })),
    topicArns: each(resources, declared.topic, (id) => name(references.ref(id))),
    eventSources: each(resources, declared.eventSource, (_, properties) => ({
      functionName: functionNamed(properties.FunctionName).name,
      queueArn: text(properties.EventSourceArn),
      batchSize: properties.BatchSize,
      windowSeconds: properties.MaximumBatchingWindowInSeconds,
      maximumConcurrency: properties.ScalingConfig.MaximumConcurrency,
      reportsFailures: properties.FunctionResponseTypes.includes('ReportBatchItemFailures'),
    })),
    routes: each(resources, declared.route, (_, { RouteKey, Target }) => {
      const integration = propertiesOf(resources, declared.integration, text(Target).replace(/^integrations\//, ''));
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
}

/** What `read` makes of each resource of a kind, in the order of the template. */
function each<Properties extends z.ZodType, Result>(
  resources: Resources,
  kind: ResourceType<Properties>,
  read: (logicalId: string, properties: z.infer<Properties>) => Result,
): Result[] {
  return Object.entries(resources)
    .filter(([, { Type }]) => kind.types.includes(Type))
    .map(([id]) => read(id, propertiesOf(resources, kind, id)));
}

function propertiesOf<Properties extends z.ZodType>(
  resources: Resources,
  kind: ResourceType<Properties>,
  id: string,
): z.infer<Properties> {
  const parsed = kind.properties.safeParse(resources[id]?.Properties);
  if (parsed.success) return parsed.data;
  throw new StartError(`The local stack cannot run ${id} (${kind.types[0]}): ${z.prettifyError(parsed.error)}`);
}

/** The function that an ARN, an integration's address or a name means. */
function functionIn(functions: readonly FunctionSettings[], reference: string): FunctionSettings {
  const found = functions.find(({ name, arn }) => reference === name || reference.split('/').includes(arn));
  if (!found) throw new StartError(`The template calls ${reference}, which is no function of the stack.`);
  return found;
}

function name(value: string | undefined): string {
  if (value === undefined) throw new Error('A resource that is run has no name.');
  return value;
}
