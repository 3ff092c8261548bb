// Sends alarm events, one per line of standard input, to the SQS queue in QUEUE_URL. Exits with 1 unless SQS has
// accepted all. Setup: npm install @aws-sdk/client-sqs. Run: node send-events.mts < events.ndjson
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';

const MAX_ENTRIES = 10;
const MAX_BATCH_BYTES = 1_000_000; // SQS accepts 1 MiB
const MAX_EVENT_BYTES = 256 * 1024;
const MAX_ATTEMPTS = 3;
const TENANT_ID = /^[\x21-\x7e]{1,128}$/;
const LINE_FEED = 10;

type Message = { line: number; eventId: string; tenantId: string; body: string; bytes: number };
type Rejected = { line: number; code: string };

/** Why a line cannot be sent. */
class InvalidLineError extends Error {}

/** Checks a line, whose text is sent as it is, with every digit of its numbers. */
const toMessage = (line: number, bytes: Uint8Array): Message => {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  const { event_id: eventId, tenant_id: tenantId } = JSON.parse(text) ?? {};
  if (typeof eventId !== 'string') throw new InvalidLineError('NoEventId');
  if (typeof tenantId !== 'string' || !TENANT_ID.test(tenantId)) throw new InvalidLineError('NoTenantId');
  // JSON permits these two characters and SQS rejects them.
  const body = text.replace(/[\ufffe\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
  const size = Buffer.byteLength(body);
  if (size > MAX_EVENT_BYTES) throw new InvalidLineError('TooLarge');
  return { line, eventId, tenantId, body, bytes: size };
};

const linesOf = (input: Buffer): Buffer[] => {
  const lines: Buffer[] = [];
  for (let start = 0; start < input.length; ) {
    const end = input.indexOf(LINE_FEED, start);
    lines.push(input.subarray(start, end < 0 ? input.length : end));
    start = end < 0 ? input.length : end + 1;
  }
  return lines;
};

const readMessages = (input: Buffer) => {
  const messages: Message[] = [];
  const rejected: Rejected[] = [];
  linesOf(input).forEach((bytes, index) => {
    if (bytes.toString('latin1').trim() === '') return;
    try {
      messages.push(toMessage(index + 1, bytes));
    } catch (error) {
      rejected.push({ line: index + 1, code: error instanceof InvalidLineError ? error.message : 'InvalidJson' });
    }
  });
  return { messages, rejected };
};

const batchesOf = (messages: Message[]): Message[][] => {
  const batches: Message[][] = [];
  let bytes = 0;
  for (const message of messages) {
    const last = batches.at(-1);
    if (last && last.length < MAX_ENTRIES && bytes + message.bytes <= MAX_BATCH_BYTES) {
      last.push(message);
      bytes += message.bytes;
    } else {
      batches.push([message]);
      bytes = message.bytes;
    }
  }
  return batches;
};

/** Sends messages. `rejected` can never be sent as they are; keep those in `unsent` and send them again. */
const sendMessages = async (sqs: SQSClient, queueUrl: string, messages: Message[]) => {
  const rejected: Rejected[] = [];
  let unsent = messages;
  for (let attempt = 0; attempt < MAX_ATTEMPTS && unsent.length > 0; attempt++) {
    if (attempt > 0) await sleep(500 * 2 ** attempt * Math.random());
    const failed: Message[] = [];
    for (const batch of batchesOf(unsent)) {
      const Entries = batch.map(({ tenantId, body }, index) => ({
        Id: String(index),
        MessageBody: body,
        MessageGroupId: tenantId,
      }));
      try {
        const response = await sqs.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
        for (const { Id, MessageId } of response.Successful ?? []) {
          console.log(`sent ${batch[Number(Id)]?.eventId} ${MessageId}`);
        }
        for (const { Id, SenderFault, Code = 'unknown' } of response.Failed ?? []) {
          const message = batch[Number(Id)];
          if (message && SenderFault) rejected.push({ line: message.line, code: Code });
          else if (message) failed.push(message);
        }
      } catch (error) {
        console.error(error); // the SDK has repeated the request already
        failed.push(...batch);
      }
    }
    unsent = failed;
  }
  return { rejected, unsent };
};

const { QUEUE_URL = '' } = process.env;
const { messages, rejected: invalid } = readMessages(await buffer(process.stdin));
const { rejected, unsent } = await sendMessages(new SQSClient(), QUEUE_URL, messages);
for (const { line, code } of [...invalid, ...rejected]) console.log(`rejected line ${line} ${code}`);
for (const { line, eventId } of unsent) console.log(`unsent line ${line} ${eventId}`);
if (invalid.length + rejected.length + unsent.length > 0) process.exitCode = 1;
