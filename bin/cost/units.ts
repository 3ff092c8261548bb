import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';

const LAMBDA_REQUEST = 0.2 / 1e6;
const LAMBDA_GB_SECOND = 0.0000133334;
const SQS_REQUEST = 0.4 / 1e6;
const DYNAMO_WRITE = 0.625 / 1e6;
/** For up to ten messages, without their deliveries, which are free to SQS and Lambda. */
const SNS_PUBLISH = 0.5 / 1e6;
/** A short invocation that takes a batch of outcomes or email events: assumed, 50 ms with 512 MB. */
const SHORT_INVOCATION = LAMBDA_REQUEST + 0.05 * 0.5 * LAMBDA_GB_SECOND;

/**
 * The units of a bill: the part that has them, and their price in USD, in us-east-1 in 2026 without a free tier. What is
 * priced by time is for a month, unless it is per hour.
 */
const priceList = {
  dynamoWrites: ['tables', DYNAMO_WRITE],
  dynamoReads: ['tables', 0.125 / 1e6],
  sqsRequests: ['queues', SQS_REQUEST],
  /** In addition to a request, for a message with a group ID on a standard queue. */
  sqsFairMessages: ['queues', 0.1 / 1e6],
  lambdaRequests: ['functions', LAMBDA_REQUEST],
  lambdaGbSeconds: ['functions', LAMBDA_GB_SECOND],
  logBytes: ['logs', 0.5 / 1e9],
  /** With point-in-time recovery. */
  storedGb: ['records', 0.25 + 0.2],
  /** Out of AWS, of the first 10 TB of a month. */
  internetGb: ['transfer', 0.09],
  /** With values in every hour. */
  customMetrics: ['metrics', 0.3],
  emails: ['email and SMS', 0.1 / 1e3],
  /** One message part in the US, without carrier fees. */
  sms: ['email and SMS', 0.0065],
  /** SES publishes an email event, and its record gets when it was accepted. SQS receives and deletes the batch. */
  emailEvents: ['email events', SNS_PUBLISH + DYNAMO_WRITE],
  emailEventBatches: ['email events', SHORT_INVOCATION + 2 * SQS_REQUEST],
  /** DynamoDB charges nothing for a stream that Lambda reads. */
  outcomeBatches: ['outcomes', SHORT_INVOCATION + SNS_PUBLISH],
  polls: ['idle: polling', SQS_REQUEST],
  /** Of standard resolution. Each metric of a Contributor Insights rule counts. */
  alarmMetrics: ['idle: alarms', 0.1],
  dashboards: ['idle: dashboard', 3],
  insightRules: ['idle: Contributor Insights', 0.5],
  /** Without rotations: each of the first two adds as much. */
  keys: ['idle: keys', 1],
  /** With the message that the call sends to SQS. */
  scheduledCalls: ['idle: schedules', 1 / 1e6 + SQS_REQUEST],
  /**
   * Beside its scheduled call: alone in its batches, and as if it always started both functions, which then took 1 s in
   * dispatch (512 MB) and 2 s in the sender (256 MB), with 2 writes, 2.5 reads and 5 requests to SQS.
   */
  heartbeats: ['idle: heartbeat', 17.5 / 1e6],
  /** Without the data that it processes. */
  natGatewayHours: ['idle: static egress', 0.045],
  publicAddressHours: ['idle: static egress', 0.005],
} as const satisfies Record<string, readonly [part: string, usd: number]>;

/** A unit of the price list. */
export type Unit = keyof typeof priceList;

/** A part of a bill. */
export type Part = (typeof priceList)[Unit][0];

/** How many of some units are used. */
export type Usage = Readonly<Partial<Record<Unit, number>>>;

const isUnit = (name: string): name is Unit => Object.hasOwn(priceList, name);

/** The units of the price list, in the order of a bill. */
export const unitNames = Object.keys(priceList).filter(isUnit);

/** Returns the weighted sum of usages, without units that are not used. */
export const sum = (...parts: readonly (readonly [usage: Usage, times: number])[]): Usage => {
  const usage: Partial<Record<Unit, number>> = {};
  for (const unit of unitNames) {
    const used = parts.reduce((total, [each, times]) => total + (each[unit] ?? 0) * times, 0);
    if (used !== 0) usage[unit] = used;
  }
  return usage;
};

/** Returns the bill in USD for a usage: its parts that are not zero. */
export const billOf = (usage: Usage): ReadonlyMap<Part, number> => {
  const bill = new Map<Part, number>();
  for (const unit of unitNames) {
    const [part, usd] = priceList[unit];
    const count = usage[unit] ?? 0;
    if (count !== 0) bill.set(part, (bill.get(part) ?? 0) + count * usd);
  }
  return bill;
};

const usage = z.partialRecord(z.enum(unitNames), z.number());

/** What a message uses in batches of one and of ten. */
const byBatch = z.strictObject({ batchOf1: usage, batchOf10: usage });

const schema = z.strictObject({
  version: z.string(),
  date: z.iso.date(),
  awsLatencyMs: z.number(),
  receiverLatencyMs: z.number(),
  /** What an alarm event uses in dispatch, with destinations of different types. */
  dispatch: z.strictObject({ oneDestination: byBatch, twoDestinations: byBatch }),
  /** What a delivery uses in the sender of its type. A type that is new has none. */
  senders: z.partialRecord(z.enum(notificationTypeIds), byBatch),
});

/** What a message uses in batches of one and of ten. */
export type UsageByBatch = z.infer<typeof byBatch>;

/** What `npm run bench cost` measured last. */
export type MeasuredUnits = z.infer<typeof schema>;

const FILE = join(import.meta.dirname, 'measured-units.json');

/** Reads what `npm run bench cost` measured last. */
export const readMeasuredUnits = (): MeasuredUnits => schema.parse(JSON.parse(readFileSync(FILE, 'utf8')));

/** Records a measurement for `npm run cost`. */
export const writeMeasuredUnits = (measured: MeasuredUnits): void =>
  writeFileSync(FILE, `${JSON.stringify(measured, null, 2)}\n`);
