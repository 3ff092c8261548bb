import * as z from 'zod';
import { PRICES } from './prices.ts';

/** Usage in units of the price list. */
export const units = z.strictObject({
  lambdaRequests: z.number(),
  lambdaGbSeconds: z.number(),
  dynamoWrites: z.number(),
  dynamoReads: z.number(),
  sqsRequests: z.number(),
  sqsFairMessages: z.number(),
  logBytes: z.number(),
  emails: z.number(),
  sms: z.number(),
});

/** Usage in units of the price list. */
export type Units = z.infer<typeof units>;

/** Returns the weighted sum of units. */
export const sum = (...parts: readonly (readonly [units: Partial<Units>, times: number])[]): Units => {
  const add = (name: keyof Units) => parts.reduce((total, [units, times]) => total + (units[name] ?? 0) * times, 0);
  return {
    lambdaRequests: add('lambdaRequests'),
    lambdaGbSeconds: add('lambdaGbSeconds'),
    dynamoWrites: add('dynamoWrites'),
    dynamoReads: add('dynamoReads'),
    sqsRequests: add('sqsRequests'),
    sqsFairMessages: add('sqsFairMessages'),
    logBytes: add('logBytes'),
    emails: add('emails'),
    sms: add('sms'),
  };
};

/** The parts of a bill. */
export const billParts = ['tables', 'queues', 'functions', 'logs'] as const;

/** A bill in USD, by part. Email and SMS are separate. */
export type Bill = Record<(typeof billParts)[number], number> & { emailAndSms: number };

/** Returns the bill for these units. */
export const billOf = (units: Units): Bill => ({
  tables: units.dynamoWrites * PRICES.dynamoWriteUnit + units.dynamoReads * PRICES.dynamoReadUnit,
  queues: units.sqsRequests * PRICES.sqsRequest + units.sqsFairMessages * PRICES.sqsFairQueue,
  functions: units.lambdaRequests * PRICES.lambdaRequest + units.lambdaGbSeconds * PRICES.lambdaGbSecond,
  logs: units.logBytes * PRICES.logsByte,
  emailAndSms: units.emails * PRICES.email + units.sms * PRICES.sms,
});

/** Returns the total of a bill in USD, without email and SMS. */
export const total = (bill: Bill): number => billParts.reduce((sum, part) => sum + bill[part], 0);
