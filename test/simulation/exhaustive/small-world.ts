import { createHash } from 'node:crypto';
import type { AwsCall, AwsFault, AwsResponse, AwsService } from 'local-aws/aws-service.ts';
import { jsonFault, xmlFault } from 'local-aws/aws-service.ts';
import { createDynamoDb } from 'local-aws/dynamodb/dynamodb.ts';
import { type StreamRecord, watchTable } from 'local-aws/dynamodb/table-stream.ts';
import { Tables } from 'local-aws/dynamodb/tables.ts';
import { lambdaContext, lambdaEnvironment } from 'local-aws/lambda/environment.ts';
import { passesFilters } from 'local-aws/lambda/event-filter.ts';
import { processedReceipts, toEvents } from 'local-aws/lambda/event-source.ts';
import { sesService } from 'local-aws/ses.ts';
import { snsService } from 'local-aws/sns.ts';
import { sqsService } from 'local-aws/sqs/protocol.ts';
import type { Queue } from 'local-aws/sqs/queue.ts';
import type { Receipt } from 'local-aws/sqs/queued-message.ts';
import type { Plan } from 'local-aws/template.ts';
import {
  type AwsReply,
  type AwsRequest,
  type Context,
  contexts,
  currentContext,
  type HttpReply,
} from '../engine/context.ts';
import { ExecutionEnvironment } from '../engine/execution-environment.ts';
import { randomOf } from '../engine/random.ts';
import type { ServiceCode } from '../engine/service-code.ts';
import { callOf } from '../engine/simulated-aws.ts';
import { queuesOf, START_MS } from '../engine/stack.ts';
import { VirtualTime } from '../engine/virtual-time.ts';
import type { InjectedFault } from '../world/faults.ts';
import type { Invocation } from '../world/observations.ts';
import { createReceivers } from '../world/receivers.ts';
import type { Scenario } from '../world/scenario.ts';
import { type Access, accessOf, dependsOn, type SharedAccesses } from './access.ts';

/** Waits that are shorter take no time: backoffs, and the gathering of writes. So time is the same in all orders. */
const SHORT_WAIT_MS = 1_000;

/** A message is received again only while there are fewer workers. */
const MAX_WORKERS = 2;

class CoarseTime extends VirtualTime {
  override after(ms: number, act: () => void) {
    return super.after(ms < SHORT_WAIT_MS ? 0 : ms, act);
  }
}

/** A run of a function, with the message that its execution environment received, if it consumes a queue. */
type Worker = {
  environment: ExecutionEnvironment;
  message: { queue: Queue; receipt: Receipt } | undefined;
  status: 'running' | 'ended' | 'killed';
  /** The responses that it got, in order. They determine what it does next. */
  history: string[];
  /** The calls that fail, with those by which the SDK repeats them. */
  failing: Set<string>;
};

/** A call of a worker that is not answered. */
type HeldCall = {
  worker: Worker;
  /** Its name in a path. */
  name: string;
  access: Access;
  /** What can happen to it. The first is that nothing fails. */
  fates: readonly { name: string; act: () => Promise<void> }[];
};

/** A write whose caller got no response in time. It is still to be applied. */
type LateCall = { name: string; key: string; access: Access; apply: () => Promise<void> };

/** Something that can happen next. */
export type Action = { name: string; isFault: boolean; act: () => Promise<void> };

/** The stored state in which all paths of a case start. */
export type Snapshot = {
  tables: Tables;
  ids: ReadonlyMap<number, string>;
  /** The messages of the queues. */
  messages: readonly { queue: string; message: Receipt['message'] }[];
};

/** Options of a world. */
export type SmallWorldOptions = {
  code: ServiceCode;
  plan: Plan;
  scenario: Scenario;
  /** Remembers what the workers access. */
  accesses: SharedAccesses;
};

const FAILED: AwsFault = { status: 500, type: 'InternalServerError', message: 'simulated' };

/** Only the start of a hash is in names. */
const HASH = /([0-9a-f]{8})[0-9a-f]{56}/g;

const timeoutError = (): Error => Object.assign(new Error('TimeoutError'), { name: 'TimeoutError' });

const digest = (text: string | Buffer): string => createHash('md5').update(text).digest('base64url');

/**
 * The tables, queues and destinations of a case, and the workers that are running. Each call of a worker waits until
 * somebody decides what happens to it.
 */
export class SmallWorld {
  readonly time = new CoarseTime(START_MS);
  readonly tables = new Tables();
  readonly queues: ReadonlyMap<string, Queue>;
  readonly receivers: ReturnType<typeof createReceivers>;
  readonly kills: { functionName: string; environmentId: string; atMs: number; isTimeout: boolean }[] = [];
  readonly failures: string[] = [];
  readonly faults: InjectedFault[] = [];
  readonly invocations: Invocation[] = [];
  /** What functions logged, and what arrived. */
  readonly log: string[] = [];
  /** The context of whatever is not a function. Its calls are answered at once. */
  readonly context: Context;
  readonly #options: SmallWorldOptions;
  readonly #services: ReadonlyMap<string, (call: AwsCall, isAnswered: boolean) => ReturnType<AwsService>>;
  readonly #workers: Worker[] = [];
  readonly #streams: readonly { functionName: string; records: StreamRecord[] }[];
  #held: HeldCall[] = [];
  #late: LateCall[] = [];

  constructor(options: SmallWorldOptions) {
    this.#options = options;
    const { plan, scenario } = options;
    const { time } = this;
    this.queues = queuesOf(plan, time, { duplicateReceives: 0, random: () => 0 });
    const nowMs = (): number => time.now() - START_MS;
    this.receivers = createReceivers({ scenario, nowMs, random: () => 0, trace: (line) => this.log.push(line) });
    const { receivers } = this;
    this.#streams = plan.streamSources.map(({ functionName, streamArn, filters }) => {
      const records: StreamRecord[] = [];
      const append = (record: StreamRecord) => passesFilters(filters, record) && records.push(record);
      watchTable(streamArn, this.tables, time, append);
      return { functionName, records };
    });
    const dynamodb = createDynamoDb({ tables: this.tables, clock: time, partitionLimits: false });
    const sqs = sqsService([...this.queues.values()]);
    this.#services = new Map<string, (call: AwsCall, isAnswered: boolean) => ReturnType<AwsService>>([
      ['dynamodb', dynamodb.service],
      ['sqs', sqs],
      [
        'ses',
        (call, isAnswered) => sesService((email) => receivers.receiveEmail(email, call.caller, isAnswered))(call),
      ],
      [
        'sns',
        (call, isAnswered) =>
          snsService(plan.topicArns, (message) => receivers.receiveMessage(message, call.caller, isAnswered))(call),
      ],
    ]);
    this.context = {
      time,
      skewMs: 0,
      random: randomOf(scenario.seed, 'world'),
      variables: {},
      write: () => undefined,
      deliver: (act) => act(),
      internet: { resolve: () => [], send: () => ({ kind: 'silence' }) },
      callAws: (request) => this.#serve(callOf(request, 'operator'), true),
      turn: () => Promise.resolve(),
      isSerialized: true,
    };
  }

  /** Puts the items and messages of a snapshot. */
  restore({ tables, messages }: Snapshot): void {
    for (const name of tables.names) {
      const table = this.tables.load(tables.get(name).definition);
      for (const stored of tables.get(name).scan()) table.put(stored);
    }
    for (const { queue, message } of messages) this.queue(queue).send(message, 0);
  }

  queue(name: string): Queue {
    const queue = this.queues.get(name);
    if (!queue) throw new Error(`There is no queue ${name}.`);
    return queue;
  }

  /** Receives a message of a queue, and runs the function of the queue with it. */
  async receive(queue: Queue): Promise<void> {
    const { plan } = this.#options;
    const source = plan.eventSources.find(({ queueArn }) => queueArn === queue.settings.arn);
    if (!source) throw new Error(`No function receives messages of ${queue.settings.name}.`);
    const receipts = await queue.receive({ maxMessages: 1, waitSeconds: 0 });
    const [first] = receipts;
    const [batch] = toEvents(receipts, source.queueArn);
    if (!first || !batch) return;
    this.#run(source.functionName, batch.event, { queue, receipt: first }, (value) => {
      const result = { requestId: '', payload: JSON.stringify(value), failed: false };
      for (const { handle } of processedReceipts(receipts, result, source.reportsFailures)) queue.delete(handle);
    });
  }

  /** Passes the records of streams so far to their functions. */
  watch(): void {
    for (const { functionName, records } of this.#streams) {
      const Records = records.splice(0);
      if (Records.length > 0) this.#run(functionName, JSON.stringify({ Records }), undefined, () => undefined);
    }
  }

  /** Runs a function. Each call that it makes is held. */
  #run(name: string, event: string, message: Worker['message'], onEnd: (value: unknown) => void): void {
    const { plan, code, scenario } = this.#options;
    const settings = plan.functions.find((each) => each.name === name);
    if (!settings) throw new Error(`There is no function ${name}.`);
    const functionName = settings.name.replace(/^[^-]*-/, '');
    const id = `${functionName}#${this.#workers.length}`;
    const environment = new ExecutionEnvironment({
      functionName,
      id,
      code,
      time: this.time,
      skewMs: 0,
      random: randomOf(scenario.seed, id),
      variables: lambdaEnvironment(settings, 'http://aws.test'),
      write: (text) => this.log.push(`${id}: ${text.trim()}`),
      internet: {
        resolve: () => [{ address: '93.184.216.34', family: 4 }],
        send: (request) => {
          const send = () => this.receivers.receive(request, id);
          return this.#holdHttp(worker, `POST ${new URL(request.url).host}`, send);
        },
      },
      callAws: (_, request) => this.#holdAws(worker, request),
      isSerialized: true,
    });
    const worker: Worker = {
      environment,
      message,
      status: 'running',
      history: [],
      failing: new Set(),
    };
    this.#workers.push(worker);
    const endMs = this.time.now() + settings.timeoutSeconds * 1_000;
    const context = {
      ...lambdaContext(settings),
      awsRequestId: id,
      getRemainingTimeInMillis: () => endMs - this.time.now(),
    };
    this.invocations.push({ environmentId: id, atMs: this.time.now() - START_MS, text: event });
    environment.invoke(JSON.parse(event), context).then(
      (value) => {
        worker.status = 'ended';
        environment.freeze();
        contexts.run(this.context, () => onEnd(value));
      },
      (error: unknown) => {
        worker.status = 'ended';
        environment.freeze();
        this.failures.push(`${id}: ${String(error)}`);
      },
    );
  }

  /** Resolves when each worker has ended, or waits for a call. */
  async settle(): Promise<void> {
    await this.time.run(this.time.now());
    const isOver = (): boolean => !this.#isWaitingForTime;
    if (!isOver()) await this.time.run(Number.MAX_SAFE_INTEGER, isOver);
  }

  /** Moves the time on until a function can receive a message. */
  async wait(): Promise<void> {
    await this.time.run(this.time.now() + 60_000, () => this.#isWaitingForTime || this.receivable !== undefined);
  }

  /** A queue with a visible message, other than dead letters. */
  get receivable(): Queue | undefined {
    return this.waiting.find(({ counts }) => counts.visible > 0);
  }

  /** Whether streams have records that their functions have not got. */
  get isWatched(): boolean {
    return this.#streams.every(({ records }) => records.length === 0);
  }

  /** The queues that still have messages, other than dead letters. */
  get waiting(): Queue[] {
    return [...this.queues.values()].filter(
      ({ settings, counts }) =>
        !settings.name.includes('DeadLetters') && counts.visible + counts.delayed + counts.inFlight > 0,
    );
  }

  /**
   * What can happen next: none if all workers have ended. The first is the default. Calls that a worker makes at once
   * happen in their order. A call whose order with those of others makes no difference happens at once.
   *
   * @param mayFail whether faults can happen
   */
  actions(mayFail: boolean): Action[] {
    const { accesses } = this.#options;
    for (const { worker, access } of this.#held) accesses.add(worker.environment.id, access);
    const first = [...Map.groupBy(this.#held, ({ worker }) => worker).values()].flatMap(([call]) => call ?? []);
    const independent = first.find(
      ({ worker, access }) =>
        !accesses.isShared(worker.environment.id, access) && !this.#late.some((late) => dependsOn(late.access, access)),
    );
    const held = independent ? [independent] : first;
    const calls = held.map((call) =>
      call.fates.map(({ name, act }, index) => ({
        name: `${call.worker.environment.id} ${call.name}${name}`,
        isFault: index > 0,
        act: async () => {
          this.#held = this.#held.filter((other) => other !== call);
          if (index > 0) this.#addFault(call, name);
          await act();
        },
      })),
    );
    const proceed = calls.flatMap(([action]) => action ?? []);
    if (independent) return mayFail ? (calls[0] ?? []) : proceed;
    const late = this.#late.map((call) => ({
      name: `late: ${call.name}`,
      isFault: false,
      act: async () => {
        this.#late = this.#late.filter((other) => other !== call);
        await call.apply();
      },
    }));
    if (!mayFail) return [...proceed, ...late];
    const duplicates = this.#workers
      .filter(({ status }) => status === 'running' && this.#workers.length < MAX_WORKERS)
      .map((worker) => ({
        name: `${worker.environment.id}: its message is received again`,
        isFault: true,
        act: () => this.receiveAgain(worker),
      }));
    return [...proceed, ...late, ...calls.flatMap(([, ...faults]) => faults), ...duplicates];
  }

  /** Takes what happens next by default. @returns false if all workers have ended */
  async takeNext(): Promise<boolean> {
    const call = this.#held.shift();
    const act = call ? call.fates[0]?.act : this.#late.shift()?.apply;
    await act?.();
    return act !== undefined;
  }

  /** Makes another worker receive the message of a worker, as SQS may. */
  async receiveAgain(worker: Worker | undefined = this.#workers[0]): Promise<void> {
    if (!worker?.message) return;
    const { queue, receipt } = worker.message;
    queue.changeVisibility(receipt.handle, 0);
    await this.receive(queue);
  }

  /** Two states with the same key have the same futures. */
  get key(): string {
    const hash = createHash('md5');
    hash.update(String(this.time.now()));
    for (const name of this.tables.names)
      for (const { item } of this.tables.get(name).scan()) hash.update(JSON.stringify(item));
    const messages = [...this.queues].flatMap(([name, queue]) =>
      queue.messages.map(({ state, receiveCount, visibleAtMs, body, attributes }) =>
        JSON.stringify([name, state, receiveCount, state === 'visible' ? 0 : visibleAtMs, body, [...attributes]]),
      ),
    );
    hash.update(messages.sort().join());
    for (const { status, history } of this.#workers)
      hash.update(`${status}${status === 'running' ? history.join() : ''};`);
    hash.update(this.#late.map(({ key }) => key).join());
    const { arrivals, refusals } = this.receivers;
    hash.update(JSON.stringify([arrivals.map(({ text: _, ...arrival }) => arrival), refusals]));
    return hash.digest('base64url');
  }

  get #isWaitingForTime(): boolean {
    return this.#held.length + this.#late.length === 0 && this.#workers.some(({ status }) => status === 'running');
  }

  async #serve(call: AwsCall, isAnswered: boolean): Promise<AwsResponse> {
    const service = this.#services.get(call.service);
    if (!service) throw new Error(`There is no service ${call.service}.`);
    return service(call, isAnswered);
  }

  #addFault({ worker, name }: HeldCall, kind: string): void {
    const { id } = worker.environment;
    this.faults.push({ atMs: this.time.now() - START_MS, environmentId: id, operation: name, kind: kind.trim() });
  }

  #kill(worker: Worker): void {
    const { environment } = worker;
    environment.kill();
    worker.status = 'killed';
    this.#held = this.#held.filter((call) => call.worker !== worker);
    const atMs = this.time.now() - START_MS;
    this.kills.push({ functionName: environment.functionName, environmentId: environment.id, atMs, isTimeout: false });
  }

  #holdAws(worker: Worker, request: AwsRequest): Promise<AwsReply> {
    const call = callOf(request, worker.environment.id);
    const context = currentContext();
    const invocation = ('headers' in request && request.headers['amz-sdk-invocation-id']) || '';
    const usesXml = call.service === 'sns' || call.service === 'ses';
    const failed = (usesXml ? xmlFault : jsonFault)(FAILED);
    if (worker.failing.has(invocation)) return Promise.resolve(failed);
    const { promise, resolve, reject } = Promise.withResolvers<AwsReply>();
    const access = accessOf(call);
    const name = [`${call.service}.${call.action}`, ...access.items].join(' ').replaceAll(HASH, '$1');
    const answer = (text: string): void => {
      worker.history.push(`${this.time.now()} ${name} ${digest(call.body)} ${digest(text)}`);
    };
    const serve = (isAnswered: boolean): Promise<AwsResponse> =>
      contexts.run(context, () => this.#serve(call, isAnswered));
    const timeOut = (): void => {
      answer('timeout');
      reject(timeoutError());
    };
    const proceed = async (): Promise<void> => {
      const reply = await serve(true);
      answer(`${reply.status}${reply.body}`);
      resolve(reply);
    };
    const kill = async (): Promise<void> => {
      await serve(false);
      this.#kill(worker);
    };
    const fail = async (): Promise<void> => {
      worker.failing.add(invocation);
      answer('failed');
      resolve(failed);
    };
    const lose = async (): Promise<void> => {
      await serve(false);
      timeOut();
    };
    const late = async (): Promise<void> => {
      const apply = async (): Promise<void> => {
        worker.history.push(`late ${name}`);
        await serve(true);
      };
      const key = `${name} ${digest(call.body)}`;
      this.#late.push({ name: `${worker.environment.id} ${name}`, key, access, apply });
      timeOut();
    };
    this.#held.push({
      worker,
      name,
      access,
      fates: [
        { name: '', act: proceed },
        ...(access.isRead
          ? []
          : [
              { name: ' and killed', act: kill },
              access.items.length > 0 ? { name: ' is late', act: late } : { name: ' without response', act: lose },
            ]),
        { name: ' fails', act: fail },
      ],
    });
    return promise;
  }

  #holdHttp(worker: Worker, name: string, send: () => HttpReply): Promise<HttpReply> {
    const { promise, resolve } = Promise.withResolvers<HttpReply>();
    const sent = (isAnswered: boolean): HttpReply => {
      const count = this.receivers.arrivals.length;
      const reply = send();
      const arrival = this.receivers.arrivals[count];
      if (arrival && !isAnswered) this.receivers.arrivals[count] = { ...arrival, isAnswered };
      return reply;
    };
    const proceed = async (): Promise<void> => {
      const reply = sent(true);
      worker.history.push(`${name} ${JSON.stringify(reply)}`);
      resolve(reply);
    };
    const kill = async (): Promise<void> => {
      sent(false);
      this.#kill(worker);
    };
    const lose = async (): Promise<void> => {
      sent(false);
      worker.history.push(`${name} closed`);
      resolve({ kind: 'closed', afterMs: 0 });
    };
    this.#held.push({
      worker,
      name,
      access: { isRead: false, items: [name] },
      fates: [
        { name: '', act: proceed },
        { name: ' and killed', act: kill },
        { name: ' without response', act: lose },
      ],
    });
    return promise;
  }
}
