import { z } from 'zod';
import { LOCAL_ENV } from '../aws-service.ts';
import { systemAttributes } from '../sqs/attributes.ts';
import type { Receipt } from '../sqs/queued-message.ts';
import { bodyDigest, type MessageAttribute } from '../sqs/queued-message.ts';
import { MAX_PAYLOAD_BYTES, type Outcome } from './pool.ts';

/** An SQS event source as the template declares it. */
export type EventSourceSettings = {
  functionName: string;
  queueArn: string;
  batchSize: number;
  /** How long a batch may be gathered. */
  windowSeconds: number;
  /** How many batches may be with the function at once. */
  maxConcurrency: number;
  /** Whether the function names the messages of a batch that failed (`ReportBatchItemFailures`). */
  reportsFailures: boolean;
};

/** Cuts received messages into batches whose event fits into one invocation. */
export const toEvents = (receipts: readonly Receipt[], queueArn: string): { event: string; receipts: Receipt[] }[] => {
  const batches: { records: string[]; receipts: Receipt[]; bytes: number }[] = [];
  for (const receipt of receipts) {
    const record = JSON.stringify(eventRecord(receipt, queueArn));
    const bytes = Buffer.byteLength(record) + 1;
    let last = batches.at(-1);
    if (!last || last.bytes + bytes > MAX_PAYLOAD_BYTES) {
      last = { records: [], receipts: [], bytes: ENVELOPE_BYTES };
      batches.push(last);
    }
    last.records.push(record);
    last.receipts.push(receipt);
    last.bytes += bytes;
  }
  return batches.map((batch) => ({ event: `{"Records":[${batch.records.join(',')}]}`, receipts: batch.receipts }));
};

const ENVELOPE_BYTES = '{"Records":[]}'.length;

/** A message as Lambda hands it to a function. */
const eventRecord = ({ message, handle }: Receipt, queueArn: string): object => {
  const attributes = [...message.attributes].map(([name, value]) => [name, eventAttribute(value)]);
  return {
    messageId: message.id,
    receiptHandle: handle,
    body: message.body,
    attributes: systemAttributes(message),
    messageAttributes: Object.fromEntries(attributes),
    md5OfBody: bodyDigest(message.body),
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: LOCAL_ENV.region,
  };
};

const eventAttribute = ({ dataType, value }: MessageAttribute): object => {
  const given = typeof value === 'string' ? { stringValue: value } : { binaryValue: value.toString('base64') };
  return { ...given, stringListValues: [], binaryListValues: [], dataType };
};

const batchResponse = z
  .object({ batchItemFailures: z.array(z.object({ itemIdentifier: z.string().min(1) })).nullish() })
  .nullable();

/**
 * The messages of a batch that are done, by the rules of Lambda: a failed invocation does none; without partial
 * responses, or with an empty one, all are done; one that cannot be read, or names a message that is not in the batch, does none.
 */
export const processedReceipts = (
  receipts: readonly Receipt[],
  outcome: Outcome,
  reportsFailures: boolean,
): Receipt[] => {
  if (outcome.failed) return [];
  if (!reportsFailures) return [...receipts];
  const response = batchResponse.safeParse(JSON.parse(outcome.payload));
  if (!response.success) return [];
  const failed = new Set(response.data?.batchItemFailures?.map(({ itemIdentifier }) => itemIdentifier));
  const done = receipts.filter(({ message }) => !failed.has(message.id));
  return done.length === receipts.length - failed.size ? done : [];
};
