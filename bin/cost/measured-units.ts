import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { unitNames } from './units.ts';

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
