import type { AwsFault } from 'local-aws/aws-service.ts';
import type { Fault } from 'local-aws/endpoint.ts';
import type { LocalStack } from '../../bin/local/stack.ts';
import type { Random } from './random.ts';

/** The number of injected AWS faults, by kind. */
export type AwsFaultCounts = {
  rejectedCalls: number;
  /** Messages that SES or SNS rejected because of their recipient. */
  rejectedMessages: number;
  lateResponses: number;
  throttledKeys: number;
  /** Items that cancelled a transaction. */
  conflicts: number;
  partialBatches: number;
};

const THROTTLED: AwsFault = { status: 400, type: 'ThrottlingException', message: 'chaos' };
const FAILED: AwsFault = { status: 500, type: 'InternalFailure', message: 'chaos' };
/** Permanent failures, by service. */
const REJECTIONS: Readonly<Record<string, AwsFault>> = {
  ses: { status: 400, type: 'MessageRejected', message: 'Address blacklisted.' },
  sns: { status: 400, type: 'InvalidParameter', message: 'Invalid parameter: PhoneNumber' },
};

/** The probability that a call is rejected, by service. */
const REJECTED = { dynamodb: 0.01, sqs: 0.01, ses: 0.05, sns: 0.05 };
/** The probability that SES or SNS rejects the recipient of a message. */
const REJECTED_MESSAGES = 0.03;
/** The probability that a DynamoDB write is applied, but its response arrives after the SDK timed out. */
const LATE = 0.004;
/** The same for transactions, of which there are few: only the API writes them. */
const LATE_TRANSACTIONS = 0.2;
/** The SDK times out after 3 s. A late response may arrive before or after the one to the SDK's retry. */
const LATE_DELAYS_MS = [3_050, 4_500];
/** The probability that an access to a DynamoDB key is throttled. Batches leave such keys unprocessed. */
const THROTTLED_KEYS = 0.01;
/** The probability that an item cancels a transaction because of a conflict. */
const CONFLICTS = 0.2;
/** The partitions of table Notifications that transactions write. */
const TRANSACTION_PARTITION = /^(notification|quota)#/;
/** The probability that SQS accepts only part of a batch. */
const PARTIAL = 0.03;

/** Returns whether faults are injected into all calls of a function: one of the pipeline, or the redelivery. */
const hasFaults = (caller: string): boolean => /send-|dispatch|redeliver/.test(caller);

/** Returns the probability of a late response of DynamoDB. */
const lateRate = (caller: string, action: string): number => {
  if (action === 'TransactWriteItems') return LATE_TRANSACTIONS;
  return hasFaults(caller) && /Put|Update|BatchWrite/.test(action) ? LATE : 0;
};

/**
 * Injects a fault into some batches: SQS rejects every second message.
 *
 * @returns a function that stops injecting it
 */
const rejectHalfOfBatches = (stack: LocalStack, random: Random, counts: AwsFaultCounts): (() => void) => {
  const serve = stack.endpoint.services.get('sqs');
  if (!serve) throw new Error('There is no SQS service.');
  stack.endpoint.services.set('sqs', async (call) => {
    if (call.action !== 'SendMessageBatch' || !hasFaults(call.caller) || random() >= PARTIAL) return serve(call);
    const { QueueUrl, Entries }: { QueueUrl: string; Entries: { Id: string }[] } = JSON.parse(
      call.body.toString('utf8'),
    );
    const accepted = Entries.filter((_, index) => index % 2 === 0);
    const rejected = Entries.filter((_, index) => index % 2 === 1);
    if (rejected.length > 0) counts.partialBatches++;
    const response = await serve({ ...call, body: Buffer.from(JSON.stringify({ QueueUrl, Entries: accepted })) });
    const Failed = rejected.map(({ Id }) => ({ Id, Code: 'InternalError', SenderFault: false }));
    return { ...response, body: JSON.stringify({ ...JSON.parse(response.body.toString()), Failed }) };
  });
  return () => stack.endpoint.services.set('sqs', serve);
};

/**
 * Injects random AWS faults into the functions of the pipeline and the redelivery: rejected calls and messages, late
 * responses, throttled keys and partial batches. Transactions, of any function, have late responses and conflicts.
 *
 * @returns the number of faults, and a function that stops injecting them
 */
export const startAwsFaults = (stack: LocalStack, random: Random): { counts: AwsFaultCounts; stop: () => void } => {
  const counts: AwsFaultCounts = {
    rejectedCalls: 0,
    rejectedMessages: 0,
    lateResponses: 0,
    throttledKeys: 0,
    conflicts: 0,
    partialBatches: 0,
  };
  const before = stack.endpoint.fault;
  const fault: Fault = ({ caller, service, action }) => {
    if (service === 'dynamodb' && random() < lateRate(caller, action)) {
      counts.lateResponses++;
      return { response: 'late', delayMs: LATE_DELAYS_MS[Math.floor(random() * LATE_DELAYS_MS.length)] ?? 0 };
    }
    if (!hasFaults(caller)) return undefined;
    const rejection = REJECTIONS[service];
    if (rejection && random() < REJECTED_MESSAGES) {
      counts.rejectedMessages++;
      return rejection;
    }
    const rate = Object.entries(REJECTED).find(([name]) => name === service)?.[1] ?? 0;
    if (random() >= rate) return undefined;
    counts.rejectedCalls++;
    return service === 'ses' || service === 'sns' ? FAILED : THROTTLED;
  };
  stack.endpoint.fault = fault;
  const stopThrottling = stack.dynamodb.throttle({
    partitionKey: () => {
      const isHit = random() < THROTTLED_KEYS;
      if (isHit) counts.throttledKeys++;
      return isHit;
    },
  });
  const stopConflicts = stack.dynamodb.conflict({
    operation: 'write',
    partitionKey: (key) => {
      const isHit = TRANSACTION_PARTITION.test(key) && random() < CONFLICTS;
      if (isHit) counts.conflicts++;
      return isHit;
    },
  });
  const stopRejecting = rejectHalfOfBatches(stack, random, counts);
  return {
    counts,
    stop: () => {
      stack.endpoint.fault = before;
      stopThrottling();
      stopConflicts();
      stopRejecting();
    },
  };
};
