/** Runs the synthesized stack on the local AWS in `bin/local-aws/` (docs/decisions/tools.md#local-stack). */
import type { Server } from 'node:http';
import { availableParallelism } from 'node:os';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { clientEnvironment, LOCAL_ENV } from 'local-aws/aws-service.ts';
import { type Clock, MovableClock } from 'local-aws/clock.ts';
import { embeddedMeasurements } from 'local-aws/cloudwatch/embedded-metrics.ts';
import { MetricStore } from 'local-aws/cloudwatch/metric-store.ts';
import { cloudWatchService } from 'local-aws/cloudwatch/service.ts';
import { createDynamoDb, type DynamoDb } from 'local-aws/dynamodb/dynamodb.ts';
import { AWS_PARTITION_LIMITS, type PartitionLimits } from 'local-aws/dynamodb/partition-capacity.ts';
import { openTables } from 'local-aws/dynamodb/stored-tables.ts';
import { watchTable } from 'local-aws/dynamodb/table-stream.ts';
import { Tables } from 'local-aws/dynamodb/tables.ts';
import { callEndpoint, createEndpoint, type Endpoint } from 'local-aws/endpoint.ts';
import { createGateway, type RequestReport } from 'local-aws/gateway/gateway.ts';
import { close, listen, origin } from 'local-aws/http.ts';
import { EventSources } from 'local-aws/lambda/event-sources.ts';
import { lambdaService } from 'local-aws/lambda/invoke-api.ts';
import { createLambda, type InvocationReport, type Lambda } from 'local-aws/lambda/lambda.ts';
import { parseLogLine } from 'local-aws/lambda/log-line.ts';
import { StreamSource, type StreamSourceSettings } from 'local-aws/lambda/stream-source.ts';
import { Schedules } from 'local-aws/scheduler.ts';
import { sesService } from 'local-aws/ses.ts';
import { createEmailEventPublisher, eventsOf, mailOf } from 'local-aws/ses-events.ts';
import { type PublishedMessage, snsService } from 'local-aws/sns.ts';
import { sqsService } from 'local-aws/sqs/protocol.ts';
import { Queue } from 'local-aws/sqs/queue.ts';
import { StartError } from 'local-aws/start-error.ts';
import { stsService } from 'local-aws/sts.ts';
import { type Plan, readTemplate } from 'local-aws/template.ts';
import { createAccountAdministration } from '../../shared/adapters/accounts/account-administration.ts';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { TRACED_ERRORS } from '../../shared/adapters/logger.ts';
import { createApiDocs } from './api-docs.ts';
import type { Assembly } from './assembly-files.ts';
import { openDataDirectory, seed, TENANTS, type Tokens, tokenTenants } from './data-directory.ts';
import { createInbox, type Inbox, type SentMessage } from './inbox/inbox.ts';
import { localSettings } from './settings.ts';
import { withSourceFrames } from './source-frames.ts';

export type LocalStackOptions = {
  /** The port of the API; 0 (the default) selects a free port. */
  port?: number;
  /** The base path of the API, such as `/v1.0/123456`. */
  basePath?: string;
  /** Whether to block webhooks to loopback addresses, as in AWS. */
  strictEgress?: boolean;
  /** Settings (CDK context) of the app. */
  settings?: Record<string, string>;
  /** A directory that keeps the tables and tokens across starts; by default they exist only in memory. */
  data?: string;
  /** The probability (0 to 1) that SQS delivers a message twice. */
  duplicateReceives?: number;
  /** The DynamoDB capacity of a partition key value; the default is that of AWS, `false` disables the limit. */
  partitionLimits?: PartitionLimits | false;
  /** Called with each step of the start, for people who wait. */
  progress?: (step: string) => void;
  /** Called with each line that a function prints, formatted for people. */
  log?: (line: string) => void;
  /** Called with the message of each error whose log line has none. AWS shows no messages. */
  logError?: (line: string) => void;
  /** Called with each line as CloudWatch Logs stores it. */
  rawLog?: (line: string, functionName: string) => void;
  /** Called when an invocation ends or is throttled. */
  onInvocation?: (report: InvocationReport) => void;
  /** Called after each response of the API. */
  onRequest?: (report: RequestReport) => void;
  /** Synthesizes the assembly to run; the default synthesizes the CDK app. */
  synthesize?: (settings: Record<string, string>) => Assembly;
};

/** The addresses and tokens of the running stack, as `npm start -- --json` prints them. */
export type Ready = {
  base_url: string;
  tokens: Tokens;
  tenants: Readonly<Record<keyof Tokens, string>>;
  aws_endpoint: string;
  alarm_queue_url: string;
  inbox_url: string;
  /** Environment variables for the AWS CLI and SDKs. */
  aws_environment: Record<string, string>;
  docs_url: string;
};

/** The running stack. `npm start` uses `ready`, `plan` and `stop`; the other members are for tests. */
export type LocalStack = {
  ready: Ready;
  plan: Plan;
  endpoint: Endpoint;
  inbox: Inbox;
  /** Throttles tables and keys, and makes writes conflict, on demand. */
  dynamodb: Pick<DynamoDb, 'conflict' | 'throttle'>;
  lambda: Lambda;
  eventSources: Pick<EventSources, 'disable'>;
  schedules: Pick<Schedules, 'disable'>;
  queues: Map<string, Queue>;
  clock: Clock;
  /** Moves the clock forward by `ms`; resolves when all timers that became due have fired, in order. */
  advance(ms: number): Promise<void>;
  stop(): Promise<void>;
};

/** Starts the stack; resolves when it is ready for use. Throws a `StartError` if the stack or an option is invalid. */
export const startLocalStack = async (options: LocalStackOptions = {}): Promise<LocalStack> => {
  const { log = () => {}, progress = () => {}, basePath = '' } = options;
  const cleanups: (() => unknown)[] = [];
  const stop = async () => {
    for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
  };
  const ports: Record<string, number> = {};
  try {
    const data = options.data === undefined ? undefined : openDataDirectory(options.data);
    /** Opens a server on this port, or on that of the last start with this data, or on a free one. */
    const open = async (name: string, server: Server, given = 0): Promise<string> => {
      const stored = given === 0 ? data?.ports[name] : undefined;
      const port = await listen(server, stored ?? given).catch((error: unknown) => {
        if (stored === undefined) throw error;
        log(`Port ${stored} of the last start is in use: ${name} uses another one until the next start.`);
        return listen(server);
      });
      cleanups.push(() => close(server));
      ports[name] = stored ?? port;
      return origin(port);
    };
    const tables = data ? openTables(data.tables, data.tokens === undefined) : new Tables();
    cleanups.push(() => tables.close());
    const gateway = createGateway(basePath);
    const endpoint = createEndpoint();
    const inbox = createInbox();
    const apiUrl = await open('api', gateway.server, options.port);
    const endpointUrl = await open('aws', endpoint.server);
    const inboxUrl = await open('inbox', inbox.server);

    progress('Synthesizing the stack and bundling its functions …');
    const { settings = {}, strictEgress = false } = options;
    const synthesize = options.synthesize ?? (await import('./assembly.ts')).synthesize;
    const assembly = synthesize(localSettings({ settings, strictEgress, inboxUrl }));
    cleanups.push(() => assembly.remove());
    const { template, bundle } = assembly;
    const plan = readTemplate(template, { endpointUrl, apiUrl: apiUrl + basePath, bundle });

    const clock = new MovableClock();
    const queues = createQueues(plan, clock, options.duplicateReceives ?? 0);
    if (data) cleanups.push(() => reportLostMessages(queues, log));
    const metrics = new MetricStore();
    const lambda = createLambda({
      functions: plan.functions,
      concurrency: functionConcurrency(plan),
      endpointUrl,
      clock,
      log: (line) => log(withSourceFrames(line)),
      ...(options.logError && { errors: { channel: TRACED_ERRORS, log: options.logError } }),
      rawLog(line, functionName) {
        for (const measurement of embeddedMeasurements(parseLogLine(line) ?? {})) metrics.put(measurement);
        options.rawLog?.(line, functionName);
      },
      ...(options.onInvocation && { onInvocation: options.onInvocation }),
    });
    cleanups.push(() => lambda.stop());
    const { partitionLimits = AWS_PARTITION_LIMITS } = options;
    const dynamodb = createDynamoDb({ tables, clock, partitionLimits });
    const publishEmailEvent = createEmailEventPublisher(plan, [...queues.values()]);
    endpoint.services
      .set('dynamodb', dynamodb.service)
      .set('sqs', sqsService([...queues.values()]))
      .set(
        'sns',
        snsService(plan.topicArns, (message) => inbox.add(fromSns(message))),
      )
      .set('ses', (call) =>
        sesService((email) => {
          inbox.add({ kind: 'email', ...email });
          for (const event of eventsOf(mailOf(call, email.to, clock.now()))) publishEmailEvent(event);
        })(call),
      )
      .set('lambda', lambdaService(lambda))
      .set('sts', stsService)
      .set('monitoring', cloudWatchService(metrics));

    progress('Creating tables and tokens …');
    const client = new DynamoDBClient({ endpoint: endpointUrl, ...LOCAL_CLIENT });
    cleanups.push(() => client.destroy());
    const tokens = await seed(plan, tables, client, data);
    const docsUrl = await open('docs', createApiDocs({ baseUrl: apiUrl + basePath, token: tokens.admin }));
    data?.savePorts(ports);
    gateway.serve({
      routes: plan.routes,
      invoke: lambda.invoke,
      ...(options.onRequest && { onRequest: options.onRequest }),
    });
    const eventSources = new EventSources({
      sources: plan.eventSources,
      queues: [...queues.values()],
      clock,
      invoke: (name, event) => lambda.invoke(name, event),
    });
    for (const source of plan.streamSources) {
      const stream = new StreamSource({
        source,
        clock,
        invoke: (event) => lambda.invoke(source.functionName, event),
        sendFailure: (body) => failureQueue(source, queues).send({ body, attributes: new Map(), senderId: 'lambda' }),
      });
      watchTable(source.streamArn, tables, clock, stream.append);
      cleanups.push(() => stream.stop());
    }
    const schedules = new Schedules({
      schedules: plan.schedules,
      clock,
      call: async (call) => {
        const response = await callEndpoint(endpoint, call);
        if (typeof response === 'object' && response.status >= 400) log(`A schedule failed: ${response.body}`);
      },
    });
    cleanups.push(
      () => schedules.stop(),
      () => close(gateway.server),
      () => eventSources.stop(),
    );
    const documents = DynamoDBDocumentClient.from(client, documentOptions);
    const accounts = createAccountAdministration(documents, plan.output('AccountsTable'), () => clock.now());
    inbox.connect({
      addresses: { base_url: apiUrl + basePath, inbox_url: inboxUrl, token: tokens.admin, tenants: TENANTS },
      // As they are stored now, unlike senders, which cache them for a minute.
      credentialsOf: async (tenant) => {
        const { token, secrets, retired } = await accounts.describe(tenant);
        return { token, secrets, replaced: retired.map(({ secret }) => secret) };
      },
      now: () => clock.now(),
    });
    // First of all, because functions that wait for a slow response of the inbox would delay the stop.
    cleanups.push(() => close(inbox.server));
    const ready: Ready = {
      base_url: apiUrl + basePath,
      tokens,
      tenants: tokenTenants,
      aws_endpoint: endpointUrl,
      alarm_queue_url: plan.output('AlarmEventsQueueUrl'),
      inbox_url: inboxUrl,
      aws_environment: clientEnvironment(endpointUrl),
      docs_url: docsUrl,
    };
    const advance = (ms: number) => clock.advance(ms);
    return { ready, plan, endpoint, inbox, dynamodb, lambda, eventSources, schedules, queues, clock, advance, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const LOCAL_CLIENT = {
  region: LOCAL_ENV.region,
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
};

const fromSns = (message: PublishedMessage): SentMessage => {
  const { text } = message;
  if (message.to === 'phone') return { kind: 'sms', to: message.phoneNumber, text, attributes: message.attributes };
  return { kind: 'managed', topic: message.topicArn, subject: message.subject, text };
};

const createQueues = (plan: Plan, clock: Clock, duplicateReceives: number): Map<string, Queue> => {
  const faultInjection = { duplicateReceives, random: Math.random };
  const queues = plan.queues.map((settings) => new Queue(settings, clock, faultInjection));
  plan.queues.forEach(({ logicalId, redrive }, index) => {
    const queue = queues[index];
    if (!queue || !redrive) return;
    const target = queues.find(({ settings }) => settings.arn === redrive.targetArn);
    if (!target) throw new StartError(`The stack does not contain the dead-letter queue of ${logicalId}.`);
    queue.redrive = { target, maxReceiveCount: redrive.maxReceiveCount };
  });
  return new Map(queues.map((queue) => [queue.settings.name, queue]));
};

const failureQueue = ({ functionName, failureQueueArn }: StreamSourceSettings, queues: Map<string, Queue>): Queue => {
  const found = [...queues.values()].find(({ settings }) => settings.arn === failureQueueArn);
  if (!found) throw new StartError(`The event source of ${functionName} has no queue for failures.`);
  return found;
};

/** Says which messages a stop discards, because a data directory keeps only tables and tokens. */
const reportLostMessages = (queues: Map<string, Queue>, log: (line: string) => void): void => {
  const filled = [...queues.values()].filter(({ messages }) => messages.length > 0);
  if (filled.length === 0) return;
  const counts = filled.map(({ settings, messages }) => `${settings.name} ${messages.length}`);
  log(`The data directory does not keep queues. Discarded messages: ${counts.join(', ')}.`);
};

/**
 * Additional execution environments for direct invocations, so that they do not wait for the batches of a queue. More
 * than the machine can run would only add cold starts; twice the parallelism, because some wait for a destination
 * under test.
 */
const DIRECT_CONCURRENCY = Math.max(4, 2 * availableParallelism());

const functionConcurrency =
  ({ eventSources }: Plan): ((functionName: string) => number) =>
  (functionName) =>
    eventSources
      .filter((source) => source.functionName === functionName)
      .reduce((total, source) => total + source.maxConcurrency, DIRECT_CONCURRENCY);
