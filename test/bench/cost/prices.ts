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
  /** Of a table for a month, with point-in-time recovery. */
  storedByte: (0.25 + 0.2) / 1e9,
  mail: 0.1 / 1e3,
  /** One part in the US, without carriers' fees. */
  text: 0.0065,
} as const;

/** What is paid for, in units of the price list. */
export type Units = {
  lambdaRequests: number;
  lambdaGbSeconds: number;
  dynamoWrites: number;
  dynamoReads: number;
  sqsRequests: number;
  sqsFairMessages: number;
  logBytes: number;
  /** Of records that stay for 30 days. */
  recordBytes: number;
  mails: number;
  texts: number;
};

/** Nothing used. */
export const noUnits: Units = {
  lambdaRequests: 0,
  lambdaGbSeconds: 0,
  dynamoWrites: 0,
  dynamoReads: 0,
  sqsRequests: 0,
  sqsFairMessages: 0,
  logBytes: 0,
  recordBytes: 0,
  mails: 0,
  texts: 0,
};

/** The sum of units, each so many times. */
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
    recordBytes: add('recordBytes'),
    mails: add('mails'),
    texts: add('texts'),
  };
};

/** The parts of a bill, as the picture stacks them. */
export const billParts = ['tables', 'queues', 'functions', 'logs'] as const;

/** Dollars by part of the bill; mails and texts stand apart. */
export type Bill = Record<(typeof billParts)[number], number> & { outlets: number };

/** The bill of a million of what the units are of. */
export const billPerMillion = (units: Units): Bill => ({
  tables: 1e6 * (units.dynamoWrites * prices.dynamoWriteUnit + units.dynamoReads * prices.dynamoReadUnit),
  queues: 1e6 * (units.sqsRequests * prices.sqsRequest + units.sqsFairMessages * prices.sqsFairQueue),
  functions: 1e6 * (units.lambdaRequests * prices.lambdaRequest + units.lambdaGbSeconds * prices.lambdaGbSecond),
  logs: 1e6 * units.logBytes * prices.logsByte,
  outlets: 1e6 * (units.mails * prices.mail + units.texts * prices.text),
});

/** The sum of a bill, without its mails and texts. */
export const total = (bill: Bill): number => billParts.reduce((sum, part) => sum + bill[part], 0);
