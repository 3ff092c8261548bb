import { paginateScan } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { PRICES } from '../../bin/cost/prices.ts';
import { startLocalStack } from '../../bin/local/stack.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { connectApi } from '../support/api.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';
import { type QuietLatencies, quietTenant } from './quiet-tenant.ts';
import { SUMMARIES, stormyTenant } from './stormy-tenant.ts';

/** What a storm of alerts of one tenant caused. */
export type StormResult = {
  /** Those of a quiet tenant alone, with execution environments that another storm has started. */
  alone: QuietLatencies;
  /** Those beside the storm. */
  besideStorm: QuietLatencies;
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
  deadLetters: number;
  failedInvocations: number;
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

const SETTINGS = { deadLetterEmail: 'false', emailsPerTenantPerDay: '1000000' };

/**
 * Measures a storm: `events` alarm events of one tenant within `seconds`, each for an email and an SMS notification,
 * with summaries, beside a quiet tenant with an email and a webhook. Takes until the last summary, at least one window
 * and a minute. A short storm of another tenant starts the execution environments before.
 */
export const measureStorm = async (events: number, seconds: number, windowMinutes: number): Promise<StormResult> => {
  let failedInvocations = 0;
  const stack = await startLocalStack({
    settings: SETTINGS,
    onInvocation: ({ result }) => {
      if (result === 'error') failedInvocations++;
    },
  });
  stack.endpoint.fault = ({ service }) => {
    const delayMs = REQUEST_MS.get(service);
    return delayMs === undefined ? undefined : { response: 'late', delayMs };
  };
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);
  const sink = await startSink();
  const sent = { email: 0, sms: 0, lastAtMs: 0 };
  try {
    const [first, stormy, quiet] = [await api.newClient(), await api.newClient(), await api.newClient()];
    const sendFirstStorm = await stormyTenant(first, pipeline, { ...FIRST_RECIPIENTS, windowMinutes });
    const sendStorm = await stormyTenant(stormy, pipeline, { ...RECIPIENTS, windowMinutes });
    const quietLatencies = await quietTenant(quiet, pipeline, stack.inbox, sink);

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

    await sendFirstStorm(Math.round((events / seconds) * FIRST_STORM_SECONDS), FIRST_STORM_SECONDS);
    const aloneEndsMs = Date.now() + Math.min(seconds, 60) * 1_000;
    const alone = await quietLatencies(() => Date.now() > aloneEndsMs);
    const startMs = Date.now();
    let isSent = false;
    const storm = sendStorm(events, seconds).finally(() => {
      isSent = true;
    });
    const [besideStorm] = await Promise.all([quietLatencies(() => isSent), storm]);
    const sentAtMs = Date.now();
    await until(async () => {
      await collect();
      return [...stack.queues].every(([name, { messages }]) => name.includes('DeadLetters') || messages.length === 0);
    }, 2_000);
    await collect();

    const alerts: Record<string, number> = {};
    const table = { TableName: api.table('Deliveries'), FilterExpression: 'contains(pk, :tenant)' };
    const values = { ':tenant': stormy.tenant };
    for await (const { Items = [] } of paginateScan(
      { client: api.documents },
      { ...table, ExpressionAttributeValues: values },
    )) {
      for (const item of Items) {
        const { data } = storedDelivery.safeParse(item);
        if (data && data.notice === undefined) alerts[data.status] = (alerts[data.status] ?? 0) + 1;
      }
    }
    const windowOf = (atMs: number) => Math.floor(atMs / (windowMinutes * 60_000));
    const windows = windowOf(sentAtMs) - windowOf(startMs) + 1;
    return {
      alone,
      besideStorm,
      lastSummaryMs: sent.lastAtMs - (windowOf(sentAtMs) + 1) * windowMinutes * 60_000,
      alerts,
      emails: sent.email,
      sms: sent.sms,
      maxEmails: windows * (SUMMARIES.email_after + 1),
      maxSms: windows * (SUMMARIES.sms_after + 1),
      dollars: sent.email * PRICES.email + sent.sms * PRICES.sms,
      dollarsWithoutSummaries: events * (PRICES.email + PRICES.sms),
      deadLetters: [...stack.queues]
        .filter(([name]) => name.includes('DeadLetters'))
        .reduce((count, [, { messages }]) => count + messages.length, 0),
      failedInvocations,
    };
  } finally {
    sink.close();
    await stack.stop();
  }
};
