import { SNSClient } from '@aws-sdk/client-sns';
import { SQSClient } from '@aws-sdk/client-sqs';
import fc from 'fast-check';
import type { AwsService } from 'local-aws/aws-service.ts';
import { type PublishedMessage, snsService } from 'local-aws/sns.ts';
import { startEndpoint } from 'local-aws/test/support/endpoint.ts';
import { describe, expect, it, vi } from 'vitest';
import { createOutcomeTopic } from '../../shared/adapters/outcome-topic.ts';
import { createQueues, dueTimeMs, type OutgoingMessage, packBatches } from '../../shared/adapters/queues.ts';
import { messageBody, serializeBody } from '../../shared/contracts/messages.ts';
import { TRACE_ID, traceFields } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const MIB = 1_048_576;
const URL = 'https://sqs.example.com/queue';
const NOW = Date.UTC(2026, 0, 1);

const message = (body: string, messageGroupId = 'acme'): OutgoingMessage => ({
  body: () => messageBody(body),
  bytes: Buffer.byteLength(body),
  messageGroupId,
});

const bytes = (messages: readonly OutgoingMessage[]): number =>
  messages.reduce((sum, size) => sum + size.bytes + Buffer.byteLength(size.messageGroupId), 0);

/** Small and large messages, with characters of one and of four bytes. */
const anyMessage = fc
  .tuple(
    fc.constantFrom('x', '😀'),
    fc.oneof({ weight: 3, arbitrary: fc.nat(500) }, { weight: 2, arbitrary: fc.nat(250_000) }),
    fc.stringMatching(/^[a-z#]{1,128}$/),
  )
  .map(([letter, length, group]) => message(letter.repeat(length), group));

describe('packing messages into batches', () => {
  it('keeps all messages in order, in batches of 1 to 10 messages and at most 1 MiB', () => {
    forAll()(fc.array(anyMessage, { maxLength: 40 }), (messages) => {
      const packed = packBatches(messages);
      expect(packed.flat().map((item) => messages.indexOf(item))).toEqual(messages.map((_, index) => index));
      for (const batch of packed) {
        expect(batch.length).toBeGreaterThan(0);
        expect(batch.length).toBeLessThanOrEqual(10);
        expect(bytes(batch)).toBeLessThanOrEqual(MIB);
      }
    });
  });

  it('fills a batch to the last byte', () => {
    const half = 'x'.repeat(MIB / 2 - 4);
    expect(packBatches([message(half), message(half)])).toHaveLength(1);
    expect(packBatches([message(half), message(half, 'acme2')])).toHaveLength(2);
  });
});

/** Returns queues with a stubbed SQS client, and the inputs of its requests. */
const setUp = (respond: (input: object) => object = () => ({})) => {
  const client = new SQSClient({ region: 'local-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
  const requests = vi.fn(respond);
  client.middlewareStack.add(
    () => async (args) => ({ response: {}, output: { $metadata: {}, ...requests(args.input) } }),
    { step: 'initialize', priority: 'high' },
  );
  return { queues: createQueues(client, () => NOW), requests };
};

const messages = Array.from({ length: 25 }, (_, index) => message(`m${index}`));

it('sendAll sends every message in the message group of its tenant', async () => {
  const { queues, requests } = setUp();
  expect(await queues.sendAll(URL, messages)).toEqual([]);
  expect(requests).toHaveBeenCalledTimes(3);
  expect(requests).toHaveBeenCalledWith(
    expect.objectContaining({
      QueueUrl: URL,
      Entries: expect.arrayContaining([{ Id: '3', MessageBody: 'm3', MessageGroupId: 'acme' }]),
    }),
  );
});

describe('sendDelayed', () => {
  it.each([
    [0, 0],
    [-5_000, 0],
    [1, 1],
    [5_000, 5],
    [900_000, 900],
  ])('rounds a delay of %i ms up to %i s', async (waitMs, seconds) => {
    const { queues, requests } = setUp();
    await queues.sendDelayed(URL, { body: messageBody('text'), messageGroupId: 'acme' }, waitMs);
    expect(requests).toHaveBeenCalledExactlyOnceWith({
      QueueUrl: URL,
      MessageBody: 'text',
      MessageGroupId: 'acme',
      DelaySeconds: seconds,
    });
  });

  it('delays by at most 15 minutes, the limit of SQS, and adds the due time', async () => {
    const { queues, requests } = setUp();
    await queues.sendDelayed(URL, { body: messageBody('text'), messageGroupId: 'acme' }, 14_400_000.5);
    expect(requests).toHaveBeenCalledExactlyOnceWith({
      QueueUrl: URL,
      MessageBody: 'text',
      MessageGroupId: 'acme',
      DelaySeconds: 900,
      MessageAttributes: { next_attempt_at_ms: { DataType: 'Number', StringValue: String(NOW + 14_400_001) } },
    });
  });
});

it('dueTimeMs returns 0 if the attribute is missing or malformed', () => {
  const dueAt = (stringValue: string) => ({ next_attempt_at_ms: { stringValue, dataType: 'Number' } });
  expect(dueTimeMs(sqsMessage())).toBe(0);
  expect(dueTimeMs(sqsMessage({ messageAttributes: dueAt('1790000000000') }))).toBe(1_790_000_000_000);
  expect(dueTimeMs(sqsMessage({ messageAttributes: dueAt('soon') }))).toBe(0);
});

describe('sendToDeadLetterQueue', () => {
  const reason = { reason: 'http_status', cause: 'destination', attemptCount: 9 } as const;

  it('keeps the body unchanged and adds the reason as attributes', async () => {
    const { queues, requests } = setUp();
    await queues.sendToDeadLetterQueue(URL, { body: messageBody(' {"a" : 1.0}'), messageGroupId: 'acme' }, reason);
    expect(requests).toHaveBeenCalledExactlyOnceWith({
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

  it('adds what is wrong with an invalid event, and where it comes from', async () => {
    const { queues, requests } = setUp();
    const findings = { detail: 'alarm is required', warnings: 'details.timestamp must be in milliseconds' };
    const correlation = { producer_message_id: 'm1', trace: { id: TRACE_ID, headers: traceFields } };
    const invalid = { ...reason, reason: 'malformed', cause: 'producer', ...findings, correlation } as const;
    await queues.sendToDeadLetterQueue(URL, { body: messageBody('{}') }, invalid);
    const expected = { cause: 'producer', ...findings, producer_message_id: 'm1', ...traceFields };
    const attributes = Object.entries(expected).map(([name, StringValue]) => [
      name,
      { DataType: 'String', StringValue },
    ]);
    expect(requests.mock.calls[0]?.[0]).toMatchObject({ MessageAttributes: Object.fromEntries(attributes) });
  });

  it('omits the attributes only if the message would exceed the maximum size with them', async () => {
    const { queues, requests } = setUp();
    const attributes = `reasonStringhttp_statuscauseStringdestinationattemptsNumber9timeString${new Date(NOW).toISOString()}`;
    const body = messageBody('x'.repeat(MIB - attributes.length - 'acme'.length));
    await queues.sendToDeadLetterQueue(URL, { body, messageGroupId: 'acme' }, reason);
    expect(requests).toHaveBeenLastCalledWith(expect.objectContaining({ MessageAttributes: expect.anything() }));
    await queues.sendToDeadLetterQueue(URL, { body: messageBody(`${body}x`), messageGroupId: 'acme' }, reason);
    expect(requests).toHaveBeenLastCalledWith({ QueueUrl: URL, MessageBody: `${body}x` });
  });
});

it('changeVisibility rounds the timeout up to whole seconds', async () => {
  const { queues, requests } = setUp();
  await queues.changeVisibility(URL, sqsMessage(), 1_200);
  expect(requests).toHaveBeenCalledExactlyOnceWith({ QueueUrl: URL, ReceiptHandle: 'receipt-1', VisibilityTimeout: 2 });
});

const TOPIC = 'arn:aws:sns:us-east-1:000000000000:Outcomes';

/** Publishes messages with these numbers to an SNS. */
const publishTo = async (sns: AwsService, numbers: number[]) => {
  const local = await startEndpoint({ sns });
  const client = new SNSClient(local.client);
  try {
    const messages = numbers.map((number) => ({
      body: serializeBody({ number, text: '\uffff<&' }),
      attributes: { tenant_id: 'acme', status: 'failed' },
    }));
    return await createOutcomeTopic(TOPIC, client).publish(messages);
  } finally {
    client.destroy();
    await local.stop();
  }
};

const failure = (id: number, code: string, isSenderFault: boolean) =>
  `<member><Id>${id}</Id><Code>${code}</Code><SenderFault>${isSenderFault}</SenderFault></member>`;

describe('the topic of outcomes', () => {
  it('gets messages with text attributes', async () => {
    const published: PublishedMessage[] = [];
    const sns = snsService([TOPIC], (message) => void published.push(message));
    expect(await publishTo(sns, [1, 2])).toEqual(['published', 'published']);
    expect(published).toEqual(
      [1, 2].map((number) => ({
        to: 'topic',
        topicArn: TOPIC,
        subject: null,
        text: `{"number":${number},"text":"\\uffff<&"}`,
        attributes: { tenant_id: 'acme', status: 'failed' },
      })),
    );
  });

  it('tells the messages that SNS never accepts from those that can be repeated', async () => {
    const members =
      failure(0, 'InvalidParameter', true) +
      failure(1, 'InternalError', false) +
      failure(2, 'AuthorizationError', true);
    const body = `<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult><Failed>${members}</Failed></PublishBatchResult></PublishBatchResponse>`;
    const sns: AwsService = () => ({ status: 200, headers: { 'content-type': 'text/xml' }, body });
    expect(await publishTo(sns, [0, 1, 2, 3])).toEqual(['rejected', 'failed', 'failed', 'published']);
  });

  it('rejects if the whole batch fails', async () => {
    await expect(
      publishTo(
        snsService([], () => undefined),
        [1],
      ),
    ).rejects.toThrow('Topic does not exist');
  });
});
