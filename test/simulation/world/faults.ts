import { type AwsCall, type AwsFault, type AwsService, jsonResult } from 'local-aws/aws-service.ts';
import type { StreamRecord } from 'local-aws/dynamodb/table-stream.ts';
import { emailIn } from 'local-aws/ses.ts';
import { createSendingRate } from '../../support/sending-rate.ts';
import type { ExecutionEnvironment } from '../engine/execution-environment.ts';
import { integer, type Random } from '../engine/random.ts';
import type { CallFate } from '../engine/simulated-aws.ts';
import type { OutgoingMessage, Receivers } from './receivers.ts';
import type { FaultRates, FrequentFault, Outage, StreamFaults } from './scenario.ts';

/** A fault that was injected into a call of an execution environment. */
export type InjectedFault = { atMs: number; environmentId: string; operation: string; kind: string };

const THROTTLED: AwsFault = { status: 400, type: 'ThrottlingException', message: 'simulated' };
const FAILED: AwsFault = { status: 500, type: 'InternalServerError', message: 'simulated' };

/** The SDK waits for 3 s. A late copy of a write may be applied after that of the SDK's retry. */
const LATE_MS = { min: 3_100, span: 12_000 };

/** The longest a slow call takes before it is applied, ms: the SDK still waits for it. */
const SLOW_MS = 2_900;

const isOfFunction = (environmentId: string, functionName: string | undefined): boolean =>
  functionName === undefined || environmentId.startsWith(`${functionName}#`);

export type FaultOptions = {
  rates: FaultRates;
  outages: readonly Outage[];
  frequentFault: FrequentFault | undefined;
  sendingRate: number | undefined;
  random: Random;
  /** Decides about outages that start when a message has arrived. */
  outageRandom: Random;
  frequentFaultRandom: Random;
  receivers: Receivers;
  isActive: () => boolean;
  nowMs: () => number;
};

/** Returns a message to SNS. */
const messageIn = ({ body }: AwsCall): OutgoingMessage => {
  const form = new URLSearchParams(body.toString());
  return { to: form.get('PhoneNumber') ?? '', subject: '', text: form.get('Message') ?? '' };
};

export const createFaults = (options: FaultOptions) => {
  const { rates, outages, frequentFault, sendingRate, random, outageRandom, frequentFaultRandom } = options;
  const { receivers, isActive, nowMs } = options;
  const injected: InjectedFault[] = [];
  const throttleSend = sendingRate === undefined ? undefined : createSendingRate(sendingRate, nowMs);
  const unanswered = new WeakSet<AwsCall>();
  const hits = (rate: number): boolean => rate > 0 && isActive() && random() < rate;

  /** The services that fail for an execution environment, and until when. */
  const localOutages = new Map<string, { service: Outage['service']; untilMs: number }>();
  let databaseCaller = '';

  const injectKeyFault = (rate: number, kind: string): boolean => {
    const isHit = hits(rate);
    if (isHit) injected.push({ atMs: nowMs(), environmentId: databaseCaller, operation: 'dynamodb.key', kind });
    return isHit;
  };

  const failLocally = (environmentId: string, choose: Random): void => {
    const service = choose() < 0.6 ? 'dynamodb' : 'sqs';
    localOutages.set(environmentId, { service, untilMs: nowMs() + 1_000 * integer(2, 45, choose) });
  };

  const fateOfFrequentFault = ({ kind }: FrequentFault, { caller }: AwsCall): Partial<CallFate> => {
    switch (kind) {
      case 'error':
        return { fault: FAILED };
      case 'slow':
        return { beforeMs: Math.floor(frequentFaultRandom() * SLOW_MS) };
      case 'lost':
        return { isLost: true };
      case 'late':
        return { beforeMs: LATE_MS.min + Math.floor(frequentFaultRandom() * LATE_MS.span) };
      case 'kill':
        return { kill: frequentFaultRandom() < 0.5 ? 'before' : 'after' };
      case 'outage':
        failLocally(caller, frequentFaultRandom);
        return {};
    }
  };

  /** @returns `isSent`: its destination decides what happens to a message */
  const fateOfCall = (call: AwsCall): { fate: Partial<CallFate>; kind?: string; isSent?: true } => {
    const isDown = ({ service, fromMs, untilMs }: Outage): boolean =>
      service === call.service && fromMs <= nowMs() && nowMs() < untilMs;
    const local = localOutages.get(call.caller);
    const isDownHere = local?.service === call.service && nowMs() < local.untilMs;
    const outage = outages.find(isDown);
    if (isActive() && (isDownHere || outage))
      return { fate: { fault: FAILED, isLost: outage?.isHanging === true }, kind: 'outage' };
    if (
      frequentFault?.operation === `${call.service}.${call.action}` &&
      isOfFunction(call.caller, frequentFault.functionName) &&
      isActive() &&
      frequentFaultRandom() < frequentFault.rate
    )
      return { fate: fateOfFrequentFault(frequentFault, call), kind: frequentFault.kind };
    if (hits(rates.kill)) return { fate: { kill: random() < 0.5 ? 'before' : 'after' }, kind: 'kill' };
    switch (call.service) {
      case 'dynamodb': {
        if (hits(rates.dynamodbError)) return { fate: { fault: random() < 0.5 ? THROTTLED : FAILED }, kind: 'error' };
        if (hits(rates.dynamodbLate))
          return { fate: { beforeMs: LATE_MS.min + Math.floor(random() * LATE_MS.span) }, kind: 'late' };
        if (hits(rates.dynamodbLost)) return { fate: { isLost: true }, kind: 'lost' };
        return { fate: {} };
      }
      case 'sqs': {
        if (hits(rates.sqsError)) return { fate: { fault: random() < 0.5 ? THROTTLED : FAILED }, kind: 'error' };
        if (hits(rates.sqsLost)) return { fate: { isLost: true }, kind: 'lost' };
        return { fate: {} };
      }
      case 'ses':
      case 'sns': {
        if (hits(rates.sendError)) return { fate: { fault: FAILED }, kind: 'error' };
        if (hits(rates.sendThrottled)) {
          const type = call.service === 'ses' ? 'Throttling' : 'Throttled';
          return {
            fate: { fault: { status: 400, type, message: 'Maximum sending rate exceeded.' } },
            kind: 'throttled',
          };
        }
        if (hits(rates.sendLost)) return { fate: { isLost: true }, kind: 'lost' };
        const throttled = throttleSend?.(call);
        // It is no fault: others than its tenant must not notice it.
        return throttled ? { fate: { fault: throttled } } : { fate: {}, isSent: true };
      }
      default:
        return { fate: {} };
    }
  };

  return {
    injected,

    /** Decides what happens to a call. */
    fateOf(call: AwsCall, { id }: ExecutionEnvironment): CallFate | Promise<CallFate> {
      const { fate, kind, isSent } = fateOfCall(call);
      if (kind !== undefined)
        injected.push({ atMs: nowMs(), environmentId: id, operation: `${call.service}.${call.action}`, kind });
      const isSlow = hits(rates.slowCall);
      const beforeMs = 1 + Math.floor(random() * (isSlow ? 2_000 : 8));
      const afterMs = 1 + Math.floor(random() * 8);
      const decided = (of: Partial<CallFate>): CallFate => {
        // A caller does not wait for the response of a late call.
        if (of.isLost || of.kill === 'after' || kind === 'late') unanswered.add(call);
        return { beforeMs, afterMs, ...of };
      };
      if (!isSent) return decided(fate);
      const fateOfMessage = (message: OutgoingMessage) => decided(receivers.fateOfMessage(message, call.caller));
      if (call.service === 'sns') return fateOfMessage(messageIn(call));
      return emailIn(call.body).then(({ to: [to = ''], subject, text }) => fateOfMessage({ to, subject, text }));
    },

    isAnswered: (call: AwsCall): boolean => !unanswered.has(call),

    /** Whose call DynamoDB now applies. */
    onDynamoDbCall(environmentId: string): void {
      databaseCaller = environmentId;
    },

    isKeyThrottled: (): boolean => injectKeyFault(rates.throttledKey, 'throttled key'),

    /** Returns whether a write conflicts with a transaction. */
    isConflict: (): boolean => injectKeyFault(rates.conflict, 'conflict'),

    /** Starts some outages for the sender of a message that arrived, between its send and its record. */
    onReceived(environmentId: string): void {
      if (rates.recordOutage === 0 || !isActive() || outageRandom() >= rates.recordOutage) return;
      failLocally(environmentId, outageRandom);
    },

    /** Makes SQS refuse some entries of some batches. */
    withPartialBatches:
      (serve: AwsService): AwsService =>
      async (call) => {
        if (call.action !== 'SendMessageBatch' || !hits(rates.sqsPartial)) return serve(call);
        const request: { QueueUrl: string; Entries: { Id: string }[] } = JSON.parse(call.body.toString());
        const refused = new Set(request.Entries.filter(() => random() < 0.5).map(({ Id }) => Id));
        const Entries = request.Entries.filter(({ Id }) => !refused.has(Id));
        const Failed = [...refused].map((Id) => ({ Id, Code: 'InternalError', SenderFault: false }));
        injected.push({
          atMs: nowMs(),
          environmentId: call.caller,
          operation: 'sqs.SendMessageBatch',
          kind: 'partial',
        });
        if (Entries.length === 0) return jsonResult({ Successful: [], Failed });
        const response = await serve({ ...call, input: { ...request, Entries } });
        return response.output ? jsonResult({ ...response.output, Failed }) : response;
      },
  };
};

export type Faults = ReturnType<typeof createFaults>;

type StreamFaultOptions = {
  faults: StreamFaults;
  random: Random;
  isActive: () => boolean;
  nowMs: () => number;
  wait: (ms: number) => Promise<void>;
};

/** Creates the faults of the stream of a run: late and repeated batches, a time without any, and unreadable records. */
export const createStreamFaults = ({ faults, random, isActive, nowMs, wait }: StreamFaultOptions) => ({
  /** Waits until a batch is passed. @returns how often */
  async beforeBatch(): Promise<number> {
    const { repeats, maxDelayMs, pause } = faults;
    if (isActive() && maxDelayMs > 0) await wait(integer(0, maxDelayMs, random));
    if (pause && pause.fromMs <= nowMs() && nowMs() < pause.untilMs) await wait(pause.untilMs - nowMs());
    return repeats > 0 && isActive() && random() < repeats ? 2 : 1;
  },

  /** Makes a record unreadable, at a rate. */
  alterRecord: (record: StreamRecord): StreamRecord =>
    faults.unreadable > 0 && isActive() && random() < faults.unreadable
      ? { ...record, dynamodb: { ...record.dynamodb, OldImage: { ...record.dynamodb.OldImage, round: { S: '?' } } } }
      : record,
});
