import { z } from 'zod';
import { LOCAL_ENV } from '../aws-service.ts';
import { systemAttributes } from '../sqs/attributes.ts';
import { bodyDigest, type Receipt } from '../sqs/queued-message.ts';
import { type InvocationResult, MAX_PAYLOAD_BYTES } from './execution-environment-pool.ts';

export type EventSourceSettings = {
  functionName: string;
  queueArn: string;
  batchSize: number;
  windowSeconds: number;
  maxConcurrency: number;
  /** Whether the function returns partial batch responses (`ReportBatchItemFailures`). */
  reportsFailures: boolean;
};

/** Splits received messages into batches whose events fit into the invocation payload. */
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

const eventRecord = ({ message, handle }: Receipt, queueArn: string): object => {
  const attributes = [...message.attributes].map(([name, { dataType, value }]) => [
    name,
    { stringValue: value, stringListValues: [], binaryListValues: [], dataType },
  ]);
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

const batchResponse = z
  .object({ batchItemFailures: z.array(z.object({ itemIdentifier: z.string().min(1) })).nullish() })
  .nullable();

/**
 * Returns the messages of a batch that Lambda deletes: none after a failed invocation, or if the partial batch response
 * is malformed or names a message outside the batch; all if the function does not report failures or reports none.
 */
export const processedReceipts = (
  receipts: readonly Receipt[],
  result: InvocationResult,
  reportsFailures: boolean,
): Receipt[] => {
  if (result.failed) return [];
  if (!reportsFailures) return [...receipts];
  const response = batchResponse.safeParse(JSON.parse(result.payload));
  if (!response.success) return [];
  const failed = new Set(response.data?.batchItemFailures?.map(({ itemIdentifier }) => itemIdentifier));
  const processed = receipts.filter(({ message }) => !failed.has(message.id));
  return processed.length === receipts.length - failed.size ? processed : [];
};
