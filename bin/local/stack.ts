import type { Server } from 'node:http';
import { availableParallelism } from 'node:os';
import { type Assembly, synthesize } from './aws/assembly.ts';
import { type Clock, ShiftableClock } from './aws/clock.ts';
import { type LimitedDynamoDb, limitedDynamoDb } from './aws/dynamodb/limited-service.ts';
import { type PartitionLimits, partitionLimitsOfAws } from './aws/dynamodb/partition-capacity.ts';
import { dynamoDbService } from './aws/dynamodb.ts';
import { createEndpoint, type Endpoint } from './aws/endpoint.ts';
import { createGateway } from './aws/gateway/gateway.ts';
import type { RequestReport } from './aws/gateway/request-report.ts';
import { close, listen, origin, StartError } from './aws/http.ts';
import type { InvocationReport } from './aws/lambda/invocation-report.ts';
import { invokeService } from './aws/lambda/invoke-api.ts';
import { poll } from './aws/lambda/poller.ts';
import { createLambda, type Lambda } from './aws/lambda/runtime.ts';
import { startSes } from './aws/ses.ts';
import { snsService } from './aws/sns.ts';
import { sqsService } from './aws/sqs/protocol.ts';
import { Queue } from './aws/sqs/queue.ts';
import { type Plan, readTemplate } from './aws/template.ts';
import { createInbox, type Inbox } from './inbox.ts';
import { seed, type Tokens } from './seed.ts';
import { localSettings } from './settings.ts';

/** How the stack is started. */
export interface LocalStackOptions {
  /** The API's port; 0 (the default) takes a free one. */
  port?: number;
  /** The path below which the API is served, such as `/v1.0/123456`. */
  basePath?: string;
  /** Whether webhooks may not go to loopback addresses, as in the cloud. */
  strictEgress?: boolean;
  /** Settings of the CDK app. */
  settings?: Record<string, string>;
  /** The probability (0 to 1) that a received message is received once more. */
  duplicateReceives?: number;
  /** What a partition key value of DynamoDB may consume in a second: as in AWS unless it is given; `false` for no limit. */
  partitionLimits?: PartitionLimits | false;
  /** Takes the lines that functions print. */
  log?: (line: string) => void;
  /** Takes the same lines as CloudWatch would keep them. */
  rawLog?: (line: string, functionName: string) => void;
  /** Takes a report of each invocation of a function when it has ended or was throttled. */
  onInvocation?: (report: InvocationReport) => void;
  /** Takes a report of each request that the API answered. */
  onRequest?: (report: RequestReport) => void;
  /** Makes the assembly to run, of the CDK app unless a test has one of its own. */
  synthesize?: (settings: Record<string, string>) => Assembly;
}

/** What a user needs to know: where everything is, and tokens of each role. */
export interface Ready {
  base_url: string;
  tokens: Tokens;
  aws_endpoint: string;
  alarm_queue_url: string;
  inbox_url: string;
}

/** The running stack; what stands after `ready` is for tests. */
export interface LocalStack {
  ready: Ready;
  plan: Plan;
  endpoint: Endpoint;
  inbox: Inbox;
  /** Throttles tables and keys on demand. */
  dynamodb: Pick<LimitedDynamoDb, 'throttle'>;
  lambda: Lambda;
  /** The queues, by name. */
  queues: Map<string, Queue>;
  /** The time of queues and functions. */
  clock: Clock;
  /** Moves the time of queues and functions forward, in ms; resolves when all that became due has happened, in order. */
  advance(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the declared stack on this machine; it answers when everything is ready for use. */
export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const { log = () => {}, basePath = '' } = options;
  const undo: (() => unknown)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const open = async (server: Server, port?: number): Promise<string> => {
    const url = origin(await listen(server, port));
    undo.push(() => close(server));
    return url;
  };
  try {
    const gateway = createGateway(basePath);
    const endpoint = createEndpoint();
    const inbox = createInbox();
    const apiUrl = await open(gateway.server, options.port);
    const endpointUrl = await open(endpoint.server);
    const inboxUrl = await open(inbox.server);

    const { settings = {}, strictEgress = false } = options;
    const assembly = (options.synthesize ?? synthesize)(localSettings({ settings, strictEgress, inboxUrl }));
    undo.push(() => assembly.remove());
    const plan = readTemplate(assembly.template, { endpointUrl, bundle: assembly.bundle });

    const clock = new ShiftableClock();
    const queues = createQueues(plan, clock, options.duplicateReceives ?? 0);
    const lambda = createLambda({
      functions: plan.functions,
      concurrency: concurrencyOf(plan),
      endpointUrl,
      clock,
      log,
      ...(options.rawLog && { rawLog: options.rawLog }),
      ...(options.onInvocation && { onInvocation: options.onInvocation }),
    });
    undo.push(() => lambda.stop());
    const ses = await startSes(inbox.keep);
    undo.push(() => ses.close());
    const { partitionLimits = partitionLimitsOfAws } = options;
    const dynamodb = limitedDynamoDb({ inner: dynamoDbService(), clock, partitionLimits });
    endpoint.services
      .set('dynamodb', dynamodb.service)
      .set('sqs', sqsService([...queues.values()], clock))
      .set('sns', snsService(plan.topicArns, inbox.keep))
      .set('ses', ses.service)
      .set('lambda', invokeService(lambda));

    const tokens = await seed(plan, endpointUrl);
    gateway.serve({
      routes: plan.routes,
      invoke: lambda.invoke,
      ...(options.onRequest && { onRequest: options.onRequest }),
    });
    undo.push(() => close(gateway.server), startPollers(plan, queues, clock, lambda));
    const ready: Ready = {
      base_url: apiUrl + basePath,
      tokens,
      aws_endpoint: endpointUrl,
      alarm_queue_url: plan.output('AlarmEventsQueueUrl'),
      inbox_url: inboxUrl,
    };
    return { ready, plan, endpoint, inbox, dynamodb, lambda, queues, clock, advance: (ms) => clock.advance(ms), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function createQueues(plan: Plan, clock: Clock, duplicateReceives: number): Map<string, Queue> {
  const mischief = { duplicateReceives, random: Math.random };
  const queues = plan.queues.map((settings) => new Queue(settings, clock, mischief));
  plan.queues.forEach(({ logicalId, redrive }, index) => {
    const queue = queues[index];
    if (!queue || !redrive) return;
    const target = queues.find(({ settings }) => settings.arn === redrive.targetArn);
    if (!target) throw new StartError(`The dead-letter queue of ${logicalId} is not in the stack.`);
    queue.redrive = { target, maximumReceives: redrive.maximumReceives };
  });
  return new Map(queues.map((queue) => [queue.settings.name, queue]));
}

/**
 * Sandboxes for direct invokes, by the API or another function: these are not to wait for the batches of a queue. Each compiles
 * for itself, so more than the machine can run at one time would only be colder; some wait, for a destination that is tested.
 */
const directConcurrency = Math.max(4, 2 * availableParallelism());

function concurrencyOf({ eventSources }: Plan): (functionName: string) => number {
  return (functionName) =>
    eventSources
      .filter((source) => source.functionName === functionName)
      .reduce((total, source) => total + source.maximumConcurrency, directConcurrency);
}

function startPollers(plan: Plan, queues: Map<string, Queue>, clock: Clock, lambda: Lambda): () => Promise<void> {
  const controller = new AbortController();
  const polling = plan.eventSources.map((source) => {
    const queue = [...queues.values()].find(({ settings }) => settings.arn === source.queueArn);
    if (!queue) throw new StartError(`The source of ${source.functionName} is not in the stack.`);
    const invoke = (event: string) => lambda.invoke(source.functionName, event);
    return poll({ source, queue, clock, invoke }, controller.signal);
  });
  return async () => {
    controller.abort();
    await Promise.all(polling);
  };
}
