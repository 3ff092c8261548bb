/** us-east-1, USD, 2026. */
export const prices = {
  lambdaGbSecond: 0.0000133334,
  lambdaRequest: 0.2 / 1e6,
  dynamoWriteUnit: 0.625 / 1e6,
  dynamoReadUnit: 0.125 / 1e6,
  sqsRequest: 0.4 / 1e6,
  /** On top of a request, for a message with a group on a standard queue. */
  sqsFairQueue: 0.1 / 1e6,
  logsByte: 0.5 / 1e9,
  mail: 0.1 / 1e3,
  text: 0.0065,
} as const;

/** What one event costs in units of the price list. */
export type Units = {
  lambdaRequests: number;
  lambdaGbSeconds: number;
  dynamoWrites: number;
  dynamoReads: number;
  sqsRequests: number;
  sqsFairMessages: number;
  logBytes: number;
};

/** Dollars by part of the bill. */
export type Bill = { queues: number; functions: number; tables: number; logs: number };

/** The bill of a million of what the units are of. */
export const billPerMillion = (units: Units): Bill => ({
  queues: 1e6 * (units.sqsRequests * prices.sqsRequest + units.sqsFairMessages * prices.sqsFairQueue),
  functions: 1e6 * (units.lambdaRequests * prices.lambdaRequest + units.lambdaGbSeconds * prices.lambdaGbSecond),
  tables: 1e6 * (units.dynamoWrites * prices.dynamoWriteUnit + units.dynamoReads * prices.dynamoReadUnit),
  logs: 1e6 * units.logBytes * prices.logsByte,
});

/** The sum of a bill. */
export const total = (bill: Bill): number => Object.values(bill).reduce((sum, part) => sum + part, 0);
