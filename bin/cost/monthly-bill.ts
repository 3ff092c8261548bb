import { notificationTypes } from '../../shared/contracts/notification-types.ts';
import { deliveryTotals, EVENTS_RECEIVED } from '../../shared/domain/delivery-metrics.ts';
import { idleBill, idleTotal } from './idle-bill.ts';
import type { MeasuredUnits } from './measured-units.ts';
import { PRICES } from './prices.ts';
import { billOf, sum } from './units.ts';
import { type Load, usagePerEvent } from './usage.ts';

/** The load of a month. */
export type MonthlyLoad = Load & { events: number };

/** A part of a bill: what it charges, and USD per month. */
export type BillRow = { part: string; usage: string; usd: number };

/**
 * The size of a delivery record in bytes, with the 100 that DynamoDB bills in addition:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
const RECORD_BYTES = 632 + 100;

/** The bytes of a request to a receiver: a body of 2.5 KB, the headers, and a share of the TLS connection. */
const REQUEST_BYTES = 4_000;

/** The GB-seconds of an invocation that publishes outcomes: assumed, 50 ms with 512 MB. */
const OUTCOMES_GB_SECONDS = 0.05 * 0.5;

/** The cost of publishing the outcomes of a batch, in USD. DynamoDB charges nothing for a stream that Lambda reads. */
const OUTCOMES_BATCH = PRICES.lambdaRequest + OUTCOMES_GB_SECONDS * PRICES.lambdaGbSecond + PRICES.snsPublish;

/** The GB-seconds of an invocation that records what SES reports: assumed, 50 ms with 512 MB. */
const EMAIL_EVENTS_GB_SECONDS = 0.05 * 0.5;

/** The cost of a batch of email events beside their own: SQS receives and deletes it. */
const EMAIL_EVENTS_BATCH =
  PRICES.lambdaRequest + EMAIL_EVENTS_GB_SECONDS * PRICES.lambdaGbSecond + 2 * PRICES.sqsRequest;

/** The cost of an email event: SES publishes it to SNS, and the record gets when the email was accepted. */
const EMAIL_EVENT = PRICES.snsPublish + PRICES.dynamoWriteUnit;

/** Counts of deliveries and two latencies over all types. One of them has one more metric for each type. */
const TOTAL_METRICS = deliveryTotals.length + 2;

const grouped = (value: number): string => Math.round(value).toLocaleString('en-US');
const decimal = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 2 });

/** Returns the bill of a month. `template` is that of the synthesized stack. */
export const monthlyBill = (measured: MeasuredUnits, load: MonthlyLoad, template: unknown): BillRow[] => {
  const used = sum([usagePerEvent(measured, load), load.events]);
  const bill = billOf(used);
  const deliveries = load.events * load.destinations;
  const storedGb = (deliveries * RECORD_BYTES) / 1e9;
  const shareOfHttp = [...load.shares].reduce(
    (sum, [type, share]) => sum + (notificationTypes[type].sendsByHttp ? share : 0),
    0,
  );
  const transferredGb = (deliveries * shareOfHttp * REQUEST_BYTES) / 1e9;
  const others = JSON.stringify(template).includes(`"${EVENTS_RECEIVED}"`) ? 1 : 0;
  const metrics = load.events > 0 ? TOTAL_METRICS + load.shares.size + others : 0;
  const outcomes = JSON.stringify(template).includes('"StreamSpecification"') ? deliveries : 0;
  const rows: BillRow[] = [
    {
      part: 'tables',
      usage: `${grouped(used.dynamoWrites)} write and ${grouped(used.dynamoReads)} read units`,
      usd: bill.tables,
    },
    {
      part: 'queues',
      usage: `${grouped(used.sqsRequests)} requests, ${grouped(used.sqsFairMessages)} messages in fair queues`,
      usd: bill.queues,
    },
    {
      part: 'functions',
      usage: `${grouped(used.lambdaRequests)} invocations, ${grouped(used.lambdaGbSeconds)} GB-seconds`,
      usd: bill.functions,
    },
    { part: 'logs', usage: `${decimal(used.logBytes / 1e9)} GB`, usd: bill.logs },
    { part: 'records', usage: `${decimal(storedGb)} GB stored`, usd: storedGb * PRICES.dynamoStorageGb },
    { part: 'transfer', usage: `${decimal(transferredGb)} GB to the internet`, usd: transferredGb * PRICES.internetGb },
    { part: 'metrics', usage: `${metrics} custom metrics`, usd: metrics * PRICES.customMetric },
    { part: 'idle stack', usage: 'what its settings cost without events', usd: idleTotal(idleBill(template)) },
  ];
  if (outcomes > 0) {
    const usd = (outcomes / load.batch) * OUTCOMES_BATCH;
    rows.push({ part: 'outcomes', usage: `${grouped(outcomes)} published, to a subscribed queue`, usd });
  }
  if (used.emails > 0) {
    const usd = used.emails * (EMAIL_EVENT + EMAIL_EVENTS_BATCH / load.batch);
    rows.push({ part: 'email events', usage: `${grouped(used.emails)} published and recorded`, usd });
  }
  const emailAndSms = {
    part: 'email and SMS',
    usage: `${grouped(used.emails)} emails, ${grouped(used.sms)} SMS`,
    usd: bill.emailAndSms,
  };
  return bill.emailAndSms > 0 ? [...rows, emailAndSms] : rows;
};

/** Returns what a bill assumes, as sentences. */
export const assumptionsOf = (
  measured: MeasuredUnits,
  { events, destinations, batch, shares }: MonthlyLoad,
): string[] => {
  const types = [...shares].map(([type, share]) => `${decimal(100 * share)} % ${type}`);
  return [
    'Prices are those of us-east-1 in 2026, without free tier and taxes. A month has 30 days.',
    `Alarm events: ${grouped(events)} of 2.5 KB, which the producer sends one by one.`,
    `Destinations per event: ${decimal(destinations)}, ${types.join(', ')}.`,
    `Messages per batch: ${decimal(batch)}, in dispatch and in the senders (docs/operations.md#when-batches-are-full).`,
    'Every delivery succeeds at the first attempt (docs/operations.md#failed-destinations has the others). Cold starts are not counted.',
    `Requests, log lines and time per event are those that "npm run bench cost" measured for version ${measured.version} on ${measured.date}: functions with the default memory, receivers that respond after ${measured.receiverLatencyMs} ms, AWS after ${measured.awsLatencyMs} ms.`,
    `Delivery records have ${RECORD_BYTES} bytes and are stored for 30 days. Requests to receivers have ${REQUEST_BYTES / 1e3} KB. Metrics have values in every hour.`,
    'The idle stack polls empty queues all month, although polls that find messages are counted above.',
    'Emails have one recipient, SMS one part in the US, without carrier fees.',
    'Not included: requests to the API, notices, trace contexts, what static egress charges per GB.',
  ];
};
