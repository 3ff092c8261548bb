import { monitorEventLoopDelay } from 'node:perf_hooks';
import { paginateScan } from '@aws-sdk/lib-dynamodb';
import type { Fault } from 'local-aws/endpoint.ts';
import * as z from 'zod';
import { PRICES } from '../../bin/cost/prices.ts';
import { billOf, sum, total, type Units } from '../../bin/cost/units.ts';
import { type LocalStack, type LocalStackOptions, startLocalStack } from '../../bin/local/stack.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { meter } from '../bench/support/meter.ts';
import { connectApi } from '../support/api.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';
import { type QuietLatencies, quietTenant } from './quiet-tenant.ts';
import { SUMMARIES, stormyTenant } from './stormy-tenant.ts';

/** What a storm of alerts of one tenant caused. */
export type StormResult = {
  /**
   * Those of a quiet tenant beside the first seconds of a storm, while execution environments start and V8 compiles
   * their code.
   */
  besideFirstStorm: QuietLatencies;
  /** Those of it alone, with execution environments that another storm has started. */
  alone: QuietLatencies;
  /**
   * Those beside the same storm in another stack, which shares this process, but no queue, table or execution
   * environment.
   */
  besideOtherStack: QuietLatencies;
  /** Those beside the storm. */
  besideStorm: QuietLatencies;
  /** How long sending the events of the storm took. */
  sendMs: number;
  /** How long after the end of its window the last summary was sent, with steps of 2 s. */
  lastSummaryMs: number;
  /** The alerts of the storm by status, without its summaries. */
  alerts: Readonly<Record<string, number>>;
  emails: number;
  sms: number;
  /** The maximum number of messages: the first alerts of each window, and its summary, by each notification. */
  maxEmails: number;
  maxSms: number;
  /** The price of these messages, and that of one message for each alert, in dollars. */
  dollars: number;
  dollarsWithoutSummaries: number;
  /** What the DynamoDB and SQS requests of the senders cost for a million alerts of the first storm, in dollars. */
  requestDollarsPerMillion: number;
  /** The requests of the senders for each alert of the first storm, by action, with those of the quiet tenant. */
  requestsPerAlert: Readonly<Record<string, number>>;
  /** In bytes of JSON. */
  largestItem: number;
  deadLetters: number;
  failedInvocations: number;
  /** How long the thread of the local AWS was busy at a time, in ms: it delays all tenants here, but none on AWS. */
  busyP99: number;
  busyMax: number;
};

/** How long the storm that starts the execution environments lasts. */
const FIRST_STORM_SECONDS = 20;

const RECIPIENTS = { address: 'storm@example.com', phoneNumber: '+12025550123' };
const FIRST_RECIPIENTS = { address: 'first-storm@example.com', phoneNumber: '+12025550124' };

const storedDelivery = z.object({ status: z.enum(deliveryStatuses), notice: z.optional(z.string()) });

/**
 * How long requests take on AWS in addition, in ms: DynamoDB promises single digits, SQS tens
 * (https://aws.amazon.com/dynamodb/features/, https://aws.amazon.com/sqs/faqs/); those of SES and SNS are assumed.
 */
const REQUEST_MS = new Map([
  ['dynamodb', 5],
  ['sqs', 20],
  ['ses', 50],
  ['sns', 50],
]);

const delayed: Fault = ({ service }) => {
  const delayMs = REQUEST_MS.get(service);
  return delayMs === undefined ? undefined : { response: 'late', delayMs };
};

const SETTINGS = { deadLetterEmail: 'false', emailsPerTenantPerDay: '1000000' };

/** Starts a stack whose requests take as long as on AWS. */
const startStack = async (options: Pick<LocalStackOptions, 'onInvocation'> = {}) => {
  const stack = await startLocalStack({ settings: SETTINGS, ...options });
  stack.endpoint.fault = delayed;
  const running = addressesOf(stack);
  const api = connectApi(running);
  return { stack, api, pipeline: connectPipeline(running, api) };
};

/** Counts the requests that the senders of email and SMS make to DynamoDB and SQS, and their units. */
const countRequests = (stack: LocalStack) => {
  const requests = new Map<string, number>();
  let units: Partial<Units> = {};
  stack.endpoint.fault = (call) => {
    const { service, action, caller, body } = call;
    if (/send-(email|sms)/.test(caller) && (service === 'dynamodb' || service === 'sqs')) {
      requests.set(action, (requests.get(action) ?? 0) + 1);
      units = sum([units, 1], [meter(action, JSON.parse(body.toString())), 1]);
    }
    return delayed(call);
  };
  return { requests, dollars: () => total(billOf(sum([units, 1]))) };
};

/**
 * Measures a storm: `events` alarm events of one tenant within `seconds`, each for an email and an SMS notification,
 * with summaries, beside a quiet tenant with an email and a webhook. Takes until the last summary, at least one window
 * and a minute. A short storm of another tenant starts the execution environments before. A storm in another stack
 * shows how much of the delay is due to the shared machine.
 */
export const measureStorm = async (events: number, seconds: number, windowMinutes: number): Promise<StormResult> => {
  let failedInvocations = 0;
  const { stack, api, pipeline } = await startStack({
    onInvocation: ({ result }) => {
      if (result === 'error') failedInvocations++;
    },
  });
  const other = await startStack();
  const sink = await startSink();
  const sent = { email: 0, sms: 0, lastAtMs: 0 };
  try {
    const [first, stormy, quiet] = [await api.newClient(), await api.newClient(), await api.newClient()];
    const sendFirstStorm = await stormyTenant(first, pipeline, { ...FIRST_RECIPIENTS, windowMinutes });
    const sendStorm = await stormyTenant(stormy, pipeline, { ...RECIPIENTS, windowMinutes });
    const sendOtherStorm = await stormyTenant(await other.api.newClient(), other.pipeline, {
      ...RECIPIENTS,
      windowMinutes,
    });
    const quietLatencies = await quietTenant(quiet, pipeline, stack.inbox, sink);

    /** Returns the latencies of the quiet tenant while a storm is sent. */
    const latenciesBeside = async (storm: Promise<void>): Promise<QuietLatencies> => {
      let isSent = false;
      const isOver = storm.finally(() => {
        isSent = true;
      });
      const [latencies] = await Promise.all([quietLatencies(() => isSent), isOver]);
      return latencies;
    };

    /** Counts the messages in the inbox and removes them, because it keeps the newest 10,000. */
    const collect = async (): Promise<void> => {
      const messages = stack.inbox
        .list()
        .filter(
          (message) => 'to' in message && [message.to].flat().some((to) => Object.values(RECIPIENTS).includes(to)),
        );
      await fetch(`${stack.ready.inbox_url}/`, { method: 'DELETE' });
      for (const { kind } of messages) sent[kind === 'email' ? 'email' : 'sms'] += 1;
      if (messages.length > 0) sent.lastAtMs = Date.now();
    };

    const firstEvents = Math.round((events / seconds) * FIRST_STORM_SECONDS);
    await sendOtherStorm(firstEvents, FIRST_STORM_SECONDS);
    // Not in the storm, because reading each request slows the local AWS down.
    const { requests, dollars: requestDollars } = countRequests(stack);
    const besideFirstStorm = await latenciesBeside(sendFirstStorm(firstEvents, FIRST_STORM_SECONDS));
    stack.endpoint.fault = delayed;
    const aloneEndsMs = Date.now() + Math.min(seconds, 60) * 1_000;
    const alone = await quietLatencies(() => Date.now() > aloneEndsMs);
    const besideOtherStack = await latenciesBeside(sendOtherStorm(events, seconds));
    const busy = monitorEventLoopDelay({ resolution: 10 });
    busy.enable();
    const startMs = Date.now();
    const besideStorm = await latenciesBeside(sendStorm(events, seconds));
    busy.disable();
    const sentAtMs = Date.now();
    await until(async () => {
      await collect();
      return [...stack.queues].every(([name, { messages }]) => name.includes('DeadLetters') || messages.length === 0);
    }, 2_000);
    await collect();

    const alerts: Record<string, number> = {};
    let largestItem = 0;
    const table = { TableName: api.table('Deliveries'), FilterExpression: 'contains(pk, :tenant)' };
    const values = { ':tenant': stormy.tenant };
    for await (const { Items = [] } of paginateScan(
      { client: api.documents },
      { ...table, ExpressionAttributeValues: values },
    )) {
      for (const item of Items) {
        largestItem = Math.max(largestItem, JSON.stringify(item).length);
        const { data } = storedDelivery.safeParse(item);
        if (data && data.notice === undefined) alerts[data.status] = (alerts[data.status] ?? 0) + 1;
      }
    }
    const windowOf = (atMs: number) => Math.floor(atMs / (windowMinutes * 60_000));
    const windows = windowOf(sentAtMs) - windowOf(startMs) + 1;
    return {
      besideFirstStorm,
      alone,
      besideOtherStack,
      besideStorm,
      sendMs: sentAtMs - startMs,
      lastSummaryMs: sent.lastAtMs - (windowOf(sentAtMs) + 1) * windowMinutes * 60_000,
      alerts,
      emails: sent.email,
      sms: sent.sms,
      maxEmails: windows * (SUMMARIES.email_after + 1),
      maxSms: windows * (SUMMARIES.sms_after + 1),
      dollars: sent.email * PRICES.email + sent.sms * PRICES.sms,
      dollarsWithoutSummaries: events * (PRICES.email + PRICES.sms),
      requestDollarsPerMillion: (requestDollars() / (2 * firstEvents)) * 1e6,
      requestsPerAlert: Object.fromEntries([...requests].map(([action, count]) => [action, count / (2 * firstEvents)])),
      largestItem,
      deadLetters: [...stack.queues]
        .filter(([name]) => name.includes('DeadLetters'))
        .reduce((count, [, { messages }]) => count + messages.length, 0),
      failedInvocations,
      busyP99: Math.round(busy.percentile(99) / 1e6),
      busyMax: Math.round(busy.max / 1e6),
    };
  } finally {
    sink.close();
    await Promise.all([stack.stop(), other.stack.stop()]);
  }
};
