/** Prices of us-east-1 in 2026, in USD. */
const PRICES = {
  lambdaGbSecond: 0.0000133334,
  lambdaRequest: 0.2 / 1e6,
  dynamoWriteUnit: 0.625 / 1e6,
  dynamoReadUnit: 0.125 / 1e6,
  sqsRequest: 0.4 / 1e6,
  /** In addition to a request, for a message with a group ID on a standard queue. */
  sqsFairQueue: 0.1 / 1e6,
  logsByte: 0.5 / 1e9,
  email: 0.1 / 1e3,
  /** One message part in the US, without carrier fees. */
  sms: 0.0065,
} as const;

/** Usage in units of the price list. */
export type Units = {
  lambdaRequests: number;
  lambdaGbSeconds: number;
  dynamoWrites: number;
  dynamoReads: number;
  sqsRequests: number;
  sqsFairMessages: number;
  logBytes: number;
  emails: number;
  sms: number;
};

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

/** Returns the bill for a million times these units. */
export const billPerMillion = (units: Units): Bill => ({
  tables: 1e6 * (units.dynamoWrites * PRICES.dynamoWriteUnit + units.dynamoReads * PRICES.dynamoReadUnit),
  queues: 1e6 * (units.sqsRequests * PRICES.sqsRequest + units.sqsFairMessages * PRICES.sqsFairQueue),
  functions: 1e6 * (units.lambdaRequests * PRICES.lambdaRequest + units.lambdaGbSeconds * PRICES.lambdaGbSecond),
  logs: 1e6 * units.logBytes * PRICES.logsByte,
  emailAndSms: 1e6 * (units.emails * PRICES.email + units.sms * PRICES.sms),
});

/** Returns the total of a bill in USD, without email and SMS. */
export const total = (bill: Bill): number => billParts.reduce((sum, part) => sum + bill[part], 0);
