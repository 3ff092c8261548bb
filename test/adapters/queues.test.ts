import { SQSClient } from '@aws-sdk/client-sqs';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { createQueues, dueTime, type OutgoingMessage, packBatches } from '../../shared/adapters/queues.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const MIB = 1_048_576;
const URL = 'https://sqs.example.com/queue';
const NOW = Date.UTC(2026, 0, 1);

const message = (body: string, messageGroupId = 'acme'): OutgoingMessage => ({
  body: () => body,
  bytes: Buffer.byteLength(body),
  messageGroupId,
});

const bytes = (messages: readonly OutgoingMessage[]): number =>
  messages.reduce((sum, one) => sum + one.bytes + Buffer.byteLength(one.messageGroupId), 0);

/** Small messages and large ones, of one and of four bytes a character. */
const anyMessage = fc
  .tuple(
    fc.constantFrom('x', '😀'),
    fc.oneof({ weight: 3, arbitrary: fc.nat(500) }, { weight: 2, arbitrary: fc.nat(250_000) }),
    fc.stringMatching(/^[a-z#]{1,128}$/),
  )
  .map(([letter, length, group]) => message(letter.repeat(length), group));

describe('messages for a queue', () => {
  it('go out in batches of at most 10 and at most 1 MiB, in order, none lost and none empty', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 40 }), (messages) => {
        const packed = packBatches(messages);
        expect(packed.flat().map((one) => messages.indexOf(one))).toEqual(messages.map((_, index) => index));
        for (const batch of packed) {
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(10);
          expect(bytes(batch)).toBeLessThanOrEqual(MIB);
        }
      }),
    );
  });

  it('go out in as few batches as their number and their size allow in this order', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 40 }), (messages) => {
        const packed = packBatches(messages);
        for (const [index, batch] of packed.slice(0, -1).entries()) {
          const isFull = batch.length === 10 || bytes([...batch, ...(packed[index + 1] ?? []).slice(0, 1)]) > MIB;
          expect(isFull).toBe(true);
        }
      }),
    );
  });

  it('fill a batch to the last byte', () => {
    const half = 'x'.repeat(MIB / 2 - 4);
    expect(packBatches([message(half), message(half)])).toHaveLength(1);
    expect(packBatches([message(half), message(half, 'acme2')])).toHaveLength(2);
  });

  it('are none where there are none', () => {
    expect(packBatches([])).toEqual([]);
  });
});

/** Queues whose service answers as it is told; what was asked of it, as the SDK was given it. */
const setUp = (answer: (input: object) => object = () => ({})) => {
  const client = new SQSClient({ region: 'local-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
  const asked = vi.fn(answer);
  client.middlewareStack.add(
    () => async (args) => ({ response: {}, output: { $metadata: {}, ...asked(args.input) } }),
    { step: 'initialize', priority: 'high' },
  );
  return { queues: createQueues(client, () => NOW), asked };
};

describe('sending many', () => {
  const messages = Array.from({ length: 25 }, (_, index) => message(`m${index}`));

  it('sends all of them under their tenant, and leaves nothing', async () => {
    const { queues, asked } = setUp();
    expect(await queues.sendAll(URL, messages)).toEqual([]);
    expect(asked).toHaveBeenCalledTimes(3);
    expect(asked).toHaveBeenCalledWith(
      expect.objectContaining({
        QueueUrl: URL,
        Entries: expect.arrayContaining([{ Id: '3', MessageBody: 'm3', MessageGroupId: 'acme' }]),
      }),
    );
  });

  it('gives back what a queue did not take of a batch: it is never lost without a word', async () => {
    const { queues } = setUp(() => ({ Failed: [{ Id: '1', Code: 'x', SenderFault: false }] }));
    expect(await queues.sendAll(URL, messages)).toEqual([messages[1], messages[11], messages[21]]);
  });

  it('gives back a whole batch that failed, and sends the others', async () => {
    const logged = vi.spyOn(logger, 'error').mockImplementation(() => undefined);
    let count = 0;
    const { queues } = setUp(() => {
      if (++count === 2) throw new Error('no queue');
      return {};
    });
    expect(await queues.sendAll(URL, messages)).toHaveLength(10);
    expect(logged).toHaveBeenCalledTimes(1);
    expect(JSON.stringify(logged.mock.calls)).not.toContain('no queue');
  });
});

describe('sending one for later', () => {
  it.each([
    [0, 0],
    [-5_000, 0],
    [1, 1],
    [5_000, 5],
    [900_000, 900],
  ])('waits %i ms in whole seconds: %i s', async (wait, seconds) => {
    const { queues, asked } = setUp();
    await queues.sendDelayed(URL, { body: 'text', messageGroupId: 'acme' }, wait);
    expect(asked).toHaveBeenCalledExactlyOnceWith({
      QueueUrl: URL,
      MessageBody: 'text',
      MessageGroupId: 'acme',
      DelaySeconds: seconds,
    });
  });

  it('waits 15 minutes of more, which is all that SQS can, and says when it is due', async () => {
    const { queues, asked } = setUp();
    await queues.sendDelayed(URL, { body: 'text', messageGroupId: 'acme' }, 14_400_000.5);
    expect(asked).toHaveBeenCalledExactlyOnceWith({
      QueueUrl: URL,
      MessageBody: 'text',
      MessageGroupId: 'acme',
      DelaySeconds: 900,
      MessageAttributes: { due: { DataType: 'Number', StringValue: String(NOW + 14_400_001) } },
    });
  });

  it('is due at once where it does not say when, or says it in no way that we know', () => {
    const due = (stringValue: string) => ({ due: { stringValue, dataType: 'Number' } });
    expect(dueTime(sqsMessage())).toBe(0);
    expect(dueTime(sqsMessage({ messageAttributes: due('1790000000000') }))).toBe(1_790_000_000_000);
    expect(dueTime(sqsMessage({ messageAttributes: due('soon') }))).toBe(0);
  });
});

describe('dead-lettering one', () => {
  const why = { reason: 'http_status', cause: 'destination', attempts: 9 } as const;

  it('keeps its body byte for byte, and says why beside it', async () => {
    const { queues, asked } = setUp();
    await queues.sendToDeadLetterQueue(URL, { body: ' {"a" : 1.0}', messageGroupId: 'acme' }, why);
    expect(asked).toHaveBeenCalledExactlyOnceWith({
      QueueUrl: URL,
      MessageBody: ' {"a" : 1.0}',
      MessageGroupId: 'acme',
      MessageAttributes: {
        reason: { DataType: 'String', StringValue: 'http_status' },
        cause: { DataType: 'String', StringValue: 'destination' },
        attempts: { DataType: 'Number', StringValue: '9' },
        time: { DataType: 'String', StringValue: new Date(NOW).toISOString() },
      },
    });
  });

  it('leaves out why where the body fills the whole message', async () => {
    const { queues, asked } = setUp();
    const body = 'x'.repeat(MIB);
    await queues.sendToDeadLetterQueue(URL, { body, messageGroupId: 'acme' }, why);
    expect(asked).toHaveBeenCalledExactlyOnceWith({ QueueUrl: URL, MessageBody: body });
  });
});

it('a message that is returned to its queue is invisible for whole seconds', async () => {
  const { queues, asked } = setUp();
  await queues.changeVisibility(URL, sqsMessage(), 1.2);
  expect(asked).toHaveBeenCalledExactlyOnceWith({ QueueUrl: URL, ReceiptHandle: 'receipt-1', VisibilityTimeout: 2 });
});
