import { integer, pick, type Random } from '../engine/random.ts';
import { type FaultRates, type FrequentFault, noStreamFaults, type Outage, type StreamFaults } from './scenario.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** Each fault occurs in about half of the runs, none in a calm one: what one hides, another run shows. */
export const ratesOf = (mayFail: boolean, random: Random): Omit<FaultRates, 'recordOutage'> => {
  const rate = (max: number): number => (random() < 0.5 && mayFail ? random() * max : 0);
  return {
    kill: rate(0.01),
    dynamodbError: rate(0.03),
    dynamodbLate: rate(0.01),
    dynamodbLost: rate(0.01),
    throttledKey: rate(0.03),
    conflict: rate(0.2),
    sqsError: rate(0.03),
    sqsLost: rate(0.01),
    sqsPartial: rate(0.05),
    sendError: rate(0.05),
    sendThrottled: rate(0.1),
    sendLost: rate(0.02),
    duplicateReceives: rate(0.2),
    slowCall: rate(0.02),
  };
};

/** Faults that show more together, or if they are frequent. */
const FOCUSES: readonly Partial<FaultRates>[] = [
  { recordOutage: 0.5 },
  { kill: 0.03, duplicateReceives: 0.1 },
  { recordOutage: 0.5 },
  { recordOutage: 0.2, duplicateReceives: 0.15 },
  { sqsError: 0.4, sqsLost: 0.05, sqsPartial: 0.4 },
  { dynamodbError: 0.1, dynamodbLate: 0.05, dynamodbLost: 0.05 },
  { throttledKey: 0.15, conflict: 0.4 },
  { sendError: 0.3, sendThrottled: 0.4, sendLost: 0.1 },
];

/** Returns rates that about half of the runs have in addition: those of outages after sends, and of frequent faults. */
export const addedRatesOf = (
  isCalm: boolean,
  random: Random,
): Partial<FaultRates> & Pick<FaultRates, 'recordOutage'> => {
  const recordOutage = random() < 0.5 ? 0.02 + random() * 0.2 : 0;
  const focus = random() < 0.5 ? pick(FOCUSES, random) : {};
  return isCalm ? { recordOutage: 0 } : { recordOutage, ...focus };
};

/** What functions call most, and what they call at the points that matter: claims, records, retries, dead letters, sends. */
const OPERATIONS = [
  'dynamodb.PutItem',
  'dynamodb.UpdateItem',
  'dynamodb.UpdateItem',
  'dynamodb.UpdateItem',
  'dynamodb.GetItem',
  'dynamodb.BatchGetItem',
  'dynamodb.Query',
  'dynamodb.TransactWriteItems',
  'sqs.SendMessage',
  'sqs.SendMessageBatch',
  'sqs.ChangeMessageVisibility',
  'ses.SendRawEmail',
] as const;

/**
 * The responses of sends are lost at this rate at most: the SDK repeats the request, so each wait of a message for its
 * incident lock may leave two, which multiply (docs/decisions/deliveries.md#incident-order).
 */
const MAX_LOST_SENDS = 0.05;

/** Half of the runs have a frequent fault. An SDK makes three attempts. */
export const frequentFaultOf = (isCalm: boolean, random: Random): FrequentFault | undefined => {
  if (random() < 0.5 || isCalm) return undefined;
  const operation = pick(OPERATIONS, random);
  const kind = pick(['error', 'slow', 'lost', 'late', 'kill', 'outage'] as const, random);
  const isMild = kind === 'error' || kind === 'slow';
  const rate = pick(isMild ? [0.3, 0.9] : [0.05, 0.2, 0.4], random);
  const isLostSend = kind === 'lost' && operation.startsWith('sqs.Send');
  return { operation, kind, rate: isLostSend ? Math.min(rate, MAX_LOST_SENDS) : rate };
};

/** Returns a time without a service. @param hangingRandom decides whether its calls hang */
export const outageOf = (recoveryMs: number, random: Random, hangingRandom: Random): Outage => {
  const fromMs = Math.round(random() * recoveryMs);
  const lengthMs = integer(2, 45, random) * SECOND_MS;
  const untilMs = Math.min(fromMs + lengthMs, recoveryMs);
  return { service: pick(['dynamodb', 'sqs'], random), fromMs, untilMs, isHanging: hangingRandom() < 0.3 };
};

/** In some runs, the watcher is off for hours. */
export const streamFaultsOf = (recoveryMs: number, isCalm: boolean, random: Random): StreamFaults => {
  const fromMs = Math.round(random() * recoveryMs);
  const faults = {
    repeats: random() < 0.5 ? 0.3 * random() : 0,
    unreadable: random() < 0.3 ? 0.1 * random() : 0,
    maxDelayMs: random() < 0.3 ? integer(1, 120, random) * SECOND_MS : 0,
    pause: random() < 0.15 ? { fromMs, untilMs: fromMs + integer(10, 300, random) * MINUTE_MS } : undefined,
  };
  return isCalm ? noStreamFaults : faults;
};
