import type { AwsCall, AwsService } from 'local-aws/aws-service.ts';
import { createDynamoDb, type DynamoDb } from 'local-aws/dynamodb/dynamodb.ts';
import { AWS_PARTITION_LIMITS } from 'local-aws/dynamodb/partition-capacity.ts';
import { type StreamRecord, watchTable } from 'local-aws/dynamodb/table-stream.ts';
import { createRouter } from 'local-aws/gateway/routes.ts';
import { EventSources } from 'local-aws/lambda/event-sources.ts';
import { lambdaService } from 'local-aws/lambda/invoke-api.ts';
import { StreamSource } from 'local-aws/lambda/stream-source.ts';
import { Schedules } from 'local-aws/scheduler.ts';
import { type SentEmail, sesService } from 'local-aws/ses.ts';
import { type PublishedMessage, snsService } from 'local-aws/sns.ts';
import { sqsService } from 'local-aws/sqs/protocol.ts';
import { type FaultInjection, Queue } from 'local-aws/sqs/queue.ts';
import type { Plan } from 'local-aws/template.ts';
import type { Context, HttpReply, HttpRequest, Internet } from './context.ts';
import { type Random, randomOf } from './random.ts';
import { isEventuallyConsistent, ReplicatedTables } from './replica.ts';
import type { ServiceCode } from './service-code.ts';
import { callOf, createSimulatedAws, type SimulatedAwsOptions } from './simulated-aws.ts';
import { SimulatedLambda } from './simulated-lambda.ts';
import { VirtualTime } from './virtual-time.ts';

export type SimulatedStackOptions = Pick<SimulatedAwsOptions, 'fateOf'> & {
  seed: number;
  code: ServiceCode;
  plan: Plan;
  isSerialized: boolean;
  internet: Pick<Internet, 'resolve'> & { send: (request: HttpRequest, environmentId: string) => HttpReply };
  maxSkewMs: number;
  /** Returns the probability (0 to 1) that a queue delivers a received message again. */
  duplicateReceives: () => number;
  /** At most so many are: each copy of a message that waits for hours is received many times. */
  maxDuplicates: number;
  concurrency: number;
  /** How long an eventually consistent read of DynamoDB may not find what was written, in ms. */
  replicationLagMs: number;
  /** Called before a batch of stream records is passed to its function. @returns how often it is passed, at least once */
  beforeStreamBatch: () => Promise<number>;
  alterStreamRecord: (record: StreamRecord) => StreamRecord;
  /** Called with the message about stream records that were given up. */
  onGivenUp: (message: string) => void;
  /** Called with the caller of a call of DynamoDB before it is applied. */
  onDynamoDbCall: (environmentId: string) => void;
  withSqsFaults: (serve: AwsService) => AwsService;
  /** Called with the call that sent the email or message, whose caller is the ID of an execution environment. */
  onEmail: (email: SentEmail, call: AwsCall) => void;
  onMessage: (message: PublishedMessage, call: AwsCall) => void;
  onInvocation: (environmentId: string, event: string) => void;
  onLog: (functionName: string, text: string) => void;
  trace: (line: string) => void;
};

export type ApiRequest = {
  method: string;
  /** The path and, after `?`, the query. */
  path: string;
  token: string;
  headers?: Readonly<Record<string, string>>;
  /** The fields of a form, or else sent as JSON. */
  body?: unknown;
};

/** A response of the API. The body is JSON text, or empty. */
export type ApiResponse = { status: number; headers: Readonly<Record<string, string>>; body: string };

/** The start of every run: a day on which nothing special happens. */
export const START_MS = Date.UTC(2026, 2, 3, 8);

/** A queue that does not delete some of the messages that were acknowledged. */
class UnreliableQueue extends Queue {
  keeps: (messageId: string) => boolean = () => false;

  override delete(handle: string): void {
    const [, messageId = ''] = Buffer.from(handle, 'base64').toString().split('/');
    if (!this.keeps(messageId)) super.delete(handle);
  }
}

const queuesOf = (
  { queues }: Plan,
  time: VirtualTime,
  faults: FaultInjection,
  keeps: (messageId: string) => boolean,
): Map<string, Queue> => {
  const created = queues.map((settings) => Object.assign(new UnreliableQueue(settings, time, faults), { keeps }));
  queues.forEach(({ redrive }, index) => {
    const target = created.find(({ settings }) => settings.arn === redrive?.targetArn);
    const queue = created[index];
    if (queue && redrive && target) queue.redrive = { target, maxReceiveCount: redrive.maxReceiveCount };
  });
  return new Map(created.map((queue) => [queue.settings.name, queue]));
};

const eventOf = (
  request: ApiRequest,
  routeKey: string,
  pathParameters: Record<string, string>,
  nowMs: number,
): object => {
  const [path = '', query = ''] = request.path.split('?');
  const isForm = request.body instanceof URLSearchParams;
  return {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString: query,
    headers: {
      host: 'api.test',
      'x-auth-token': request.token,
      ...(request.body !== undefined && {
        'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      }),
      ...request.headers,
    },
    ...(query !== '' && { queryStringParameters: Object.fromEntries(new URLSearchParams(query)) }),
    ...(Object.keys(pathParameters).length > 0 && { pathParameters }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'api',
      domainName: 'api.test',
      domainPrefix: 'api',
      http: { method: request.method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'simulation' },
      requestId: crypto.randomUUID(),
      routeKey,
      stage: '$default',
      timeEpoch: nowMs,
    },
    ...(request.body !== undefined && { body: isForm ? String(request.body) : JSON.stringify(request.body) }),
    isBase64Encoded: false,
  };
};

const responseOf = (payload: string): ApiResponse => {
  const {
    statusCode,
    headers = {},
    body = '',
  }: { statusCode: number; headers?: Record<string, string>; body?: string } = JSON.parse(payload);
  return { status: statusCode, headers, body };
};

/**
 * The deployed stack on virtual time: its real functions, with the local AWS in memory. Everything must be called in the
 * context of the world.
 */
export class SimulatedStack {
  readonly time = new VirtualTime(START_MS);
  readonly plan: Plan;
  readonly queues: ReadonlyMap<string, Queue>;
  /** The IDs of messages that SQS delivered twice. */
  readonly duplicated: string[] = [];
  readonly lambda: SimulatedLambda;
  readonly dynamodb: DynamoDb;
  /** DynamoDB as eventually consistent reads see it. */
  readonly replica: DynamoDb;
  readonly schedules: Schedules;
  /** The context of whatever is not a function. */
  readonly world: Context;
  readonly #services: ReadonlyMap<string, AwsService>;
  readonly #route: ReturnType<typeof createRouter>;
  readonly #streamSources: readonly StreamSource[];
  #eventSources: EventSources | undefined;

  constructor(options: SimulatedStackOptions) {
    const { seed, plan, code, internet, maxSkewMs, fateOf, onEmail, onMessage, onLog, onInvocation, trace } = options;
    const randomFor = (actor: string): Random => randomOf(seed, actor);
    const { time } = this;
    this.plan = plan;
    const randomOfQueues = randomFor('queues');
    const { duplicated } = this;
    const faults: FaultInjection = {
      get duplicateReceives() {
        return duplicated.length < options.maxDuplicates ? options.duplicateReceives() : 0;
      },
      random(messageId) {
        const drawn = randomOfQueues();
        if (drawn < options.duplicateReceives()) duplicated.push(messageId);
        return drawn;
      },
    };
    const randomOfDeletes = randomFor('deletes of messages');
    this.queues = queuesOf(plan, time, faults, (messageId) => {
      const isKept = faults.duplicateReceives > 0 && randomOfDeletes() < faults.duplicateReceives / 2;
      if (isKept) duplicated.push(messageId);
      return isKept;
    });
    const tables = new ReplicatedTables(time, options.replicationLagMs);
    this.replica = createDynamoDb({ tables: tables.replica, clock: time, partitionLimits: false });
    this.dynamodb = createDynamoDb({ tables, clock: time, partitionLimits: AWS_PARTITION_LIMITS });
    this.lambda = new SimulatedLambda({
      functions: plan.functions,
      concurrency: options.concurrency,
      code,
      time,
      internet,
      isSerialized: options.isSerialized,
      maxSkewMs,
      random: randomFor('lambda'),
      randomOf: randomFor,
      write: onLog,
      onInvocation,
      trace,
      callAws: (environment, request) => callAws(environment, request),
    });
    this.#services = new Map<string, AwsService>([
      [
        'dynamodb',
        (call) => {
          options.onDynamoDbCall(call.caller);
          return (isEventuallyConsistent(call) ? this.replica : this.dynamodb).service(call);
        },
      ],
      ['sqs', options.withSqsFaults(sqsService([...this.queues.values()]))],
      ['ses', (call) => sesService((email) => onEmail(email, call))(call)],
      ['sns', (call) => snsService(plan.topicArns, (message) => onMessage(message, call))(call)],
      ['lambda', lambdaService(this.lambda)],
    ]);
    const callAws = createSimulatedAws({
      time,
      services: this.#services,
      fateOf,
      kill: (environment) => this.lambda.kill(environment),
      trace,
    });
    this.#streamSources = plan.streamSources.map((source) => {
      const invoke = async (event: string) => {
        const times = await options.beforeStreamBatch();
        for (let time = 1; time < times; time++) await this.lambda.invoke(source.functionName, event);
        return this.lambda.invoke(source.functionName, event);
      };
      const stream = new StreamSource({ source, clock: time, invoke, sendFailure: options.onGivenUp });
      watchTable(source.streamArn, tables, time, (record) => stream.append(options.alterStreamRecord(record)));
      return stream;
    });
    this.#route = createRouter(plan.routes);
    this.world = {
      time,
      skewMs: 0,
      random: randomFor('world'),
      variables: {},
      write: () => undefined,
      deliver: (act) => act(),
      internet: { ...internet, send: (request) => internet.send(request, 'world') },
      callAws: async (request) => this.#call(callOf(request, 'operator')),
      turn: (order) => time.turn(order),
      isSerialized: options.isSerialized,
    };
    this.schedules = new Schedules({ schedules: plan.schedules, clock: time, call: async (call) => this.#call(call) });
  }

  /** Starts the event sources. Schedules run from the construction. */
  start(): void {
    this.#eventSources = new EventSources({
      sources: this.plan.eventSources,
      queues: [...this.queues.values()],
      clock: this.time,
      invoke: (name, event) => this.lambda.invoke(name, event),
    });
  }

  /** Ends the schedules and the event sources. */
  stop(): void {
    this.schedules.stop();
    void this.#eventSources?.stop();
    for (const stream of this.#streamSources) void stream.stop();
  }

  /** Whether no function runs, and none waits for a stream. */
  get isIdle(): boolean {
    return this.lambda.busy.length === 0 && this.#streamSources.every(({ isIdle }) => isIdle);
  }

  queue(name: string): Queue {
    const queue = this.queues.get(name);
    if (!queue) throw new Error(`There is no queue ${name}.`);
    return queue;
  }

  createTables(): void {
    for (const { name, keys, attributes } of this.plan.tables) {
      const request = {
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: keys,
        AttributeDefinitions: attributes,
      };
      const body = Buffer.from(JSON.stringify(request));
      const headers = { 'x-amz-target': 'DynamoDB_20120810.CreateTable' };
      void this.#call(callOf({ path: '/', headers, body }, 'operator'));
    }
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const [path = ''] = request.path.split('?');
    const match = this.#route(request.method, path);
    if (!match) throw new Error(`There is no route for ${request.method} ${path}.`);
    const event = eventOf(request, match.route.key, match.parameters, this.time.now());
    const result = await this.lambda.invoke(match.route.functionName, JSON.stringify(event));
    return result.failed ? { status: 500, headers: {}, body: result.payload } : responseOf(result.payload);
  }

  #call(call: Parameters<AwsService>[0]): ReturnType<AwsService> {
    const service = this.#services.get(call.service);
    if (!service) throw new Error(`There is no service ${call.service}.`);
    return service(call);
  }
}
