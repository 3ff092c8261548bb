import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  InvalidMessageContents,
  ListQueuesCommand,
  PurgeQueueCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sqsService } from '../../sqs/protocol.ts';
import { startEndpoint, type TestEndpoint } from '../support/endpoint.ts';
import { queueWithDeadLetters } from '../support/queues.ts';

const { clock, queue, deadLetterQueue } = queueWithDeadLetters(2);
let endpoint: TestEndpoint;
const sqs = new SQSClient({
  endpoint: async () => ({ url: new URL(endpoint.client.endpoint) }),
  region: 'us-east-1',
  credentials: { accessKeyId: 'local-test', secretAccessKey: 'local' },
  maxAttempts: 1,
  useQueueUrlAsEndpoint: false,
});
beforeAll(async () => {
  endpoint = await startEndpoint({ sqs: sqsService([queue, deadLetterQueue]) });
});
beforeEach(() => {
  queue.purge();
  deadLetterQueue.purge();
});
afterAll(async () => {
  sqs.destroy();
  await endpoint.stop();
});
const QueueUrl = '/000000000000/jobs';

const send = (MessageBody: string, url = QueueUrl) => sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody }));
const sendBatch = (Entries: SendMessageBatchRequestEntry[]) =>
  sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
const receive = async (QueueUrl: string, options = {}) => {
  const all = {
    MaxNumberOfMessages: 10,
    MessageAttributeNames: ['All'],
    MessageSystemAttributeNames: ['All' as const],
  };
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, ...all, ...options }));
  return Messages;
};
const kibibytes = (count: number) => 'x'.repeat(count * 1024);

describe('sending and receiving with the SDK', () => {
  it('preserves the body, attributes and message group', async () => {
    await sqs.send(
      new SendMessageCommand({
        QueueUrl,
        MessageBody: 'grüße 👋 "quoted" \t\n',
        MessageGroupId: 'acme',
        MessageAttributes: {
          reason: { DataType: 'String', StringValue: 'späť' },
          count: { DataType: 'Number', StringValue: '3' },
        },
      }),
    );
    const [message] = await receive(QueueUrl);
    expect(message).toMatchObject({
      Body: 'grüße 👋 "quoted" \t\n',
      Attributes: { ApproximateReceiveCount: '1', MessageGroupId: 'acme', SenderId: 'local-test' },
      MessageAttributes: {
        reason: { DataType: 'String', StringValue: 'späť' },
        count: { DataType: 'Number', StringValue: '3' },
      },
    });
  });

  it('returns only the requested attributes', async () => {
    await sqs.send(
      new SendMessageCommand({
        QueueUrl,
        MessageBody: 'a',
        MessageAttributes: {
          first: { DataType: 'String', StringValue: '1' },
          second: { DataType: 'String', StringValue: '2' },
        },
      }),
    );
    const [message] = await receive(QueueUrl, {
      MessageAttributeNames: ['second'],
      MessageSystemAttributeNames: ['SentTimestamp'],
    });
    expect(Object.keys(message?.MessageAttributes ?? {})).toEqual(['second']);
    expect(message?.Attributes).toEqual({ SentTimestamp: String(clock.now()) });
  });

  it('does not deliver a message to a receiver that disconnected', async () => {
    const controller = new AbortController();
    const command = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 });
    const waiting = sqs.send(command, { abortSignal: controller.signal }).catch(() => 'aborted');
    while (queue.pendingReceives === 0) await new Promise(setImmediate);
    controller.abort();
    expect(await waiting).toBe('aborted');
    while (queue.pendingReceives > 0) await new Promise(setImmediate);
    await send('a');
    expect(await receive(QueueUrl)).toHaveLength(1);
  });
});

describe('message validation', () => {
  it('accepts only the characters of XML 1.0', async () => {
    for (const body of ['\u0000', 'a\u000bb', '\ufffe', '\ud800']) {
      await expect(send(body)).rejects.toBeInstanceOf(InvalidMessageContents);
    }
    await expect(send('\ud83d\udc4b \ue000 \ufffd\r')).resolves.toMatchObject({ MessageId: expect.any(String) });
  });

  it('accepts at most 1 MiB including attributes', async () => {
    await expect(send(kibibytes(1024))).resolves.toBeDefined();
    const MessageAttributes = { name: { DataType: 'String', StringValue: 'value' } };
    await expect(
      sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: kibibytes(1024), MessageAttributes })),
    ).rejects.toThrow('Message must be shorter than 1048576 bytes');
  });

  it.each([
    ['an empty body', { MessageBody: '' }],
    ['a delay above 15 minutes', { MessageBody: 'a', DelaySeconds: 901 }],
    ['a group of 129 characters', { MessageBody: 'a', MessageGroupId: 'g'.repeat(129) }],
    ['a group with a space', { MessageBody: 'a', MessageGroupId: 'a b' }],
    [
      'an attribute with a reserved name',
      { MessageBody: 'a', MessageAttributes: { 'AWS.a': { DataType: 'String', StringValue: 'v' } } },
    ],
    ['an invalid number', { MessageBody: 'a', MessageAttributes: { a: { DataType: 'Number', StringValue: 'v' } } }],
  ])('rejects %s', async (_, request) => {
    await expect(sqs.send(new SendMessageCommand({ QueueUrl, ...request }))).rejects.toMatchObject({
      $metadata: { httpStatusCode: 400 },
    });
  });

  it('returns QueueDoesNotExist for an unknown queue', async () => {
    await expect(receive('/000000000000/other')).rejects.toBeInstanceOf(QueueDoesNotExist);
  });
});

describe('a batch', () => {
  it('rejects invalid entries and accepts the others', async () => {
    const { Successful = [], Failed = [] } = await sendBatch([
      { Id: 'good', MessageBody: 'a' },
      { Id: 'delay', MessageBody: 'b', DelaySeconds: 1000 },
      { Id: 'content', MessageBody: '\u0001' },
    ]);
    expect(Successful.map(({ Id }) => Id)).toEqual(['good']);
    expect(Failed).toMatchObject([
      { Id: 'delay', SenderFault: true, Code: 'InvalidParameterValue' },
      { Id: 'content', SenderFault: true, Code: 'InvalidMessageContents' },
    ]);
  });

  it.each([
    ['no entries', [], 'EmptyBatchRequest'],
    [
      'eleven entries',
      Array.from({ length: 11 }, (_, n) => ({ Id: String(n), MessageBody: 'a' })),
      'TooManyEntriesInBatchRequest',
    ],
    [
      'a repeated id',
      [
        { Id: 'a', MessageBody: 'a' },
        { Id: 'a', MessageBody: 'b' },
      ],
      'BatchEntryIdsNotDistinct',
    ],
    ['a malformed id', [{ Id: 'a b', MessageBody: 'a' }], 'InvalidBatchEntryId'],
    [
      'more than 1 MiB in total, message attributes included',
      [
        { Id: 'a', MessageBody: kibibytes(512) },
        {
          Id: 'b',
          MessageBody: kibibytes(512).slice('nNumber1'.length - 1),
          MessageAttributes: { n: { DataType: 'Number', StringValue: '1' } },
        },
      ],
      'BatchRequestTooLong',
    ],
  ])('is rejected with %s', async (_, entries, name) => {
    await expect(sendBatch(entries)).rejects.toMatchObject({ name });
    expect(queue.messages).toEqual([]);
  });

  it('deletes messages and changes their visibility independently of each other', async () => {
    await sendBatch(['a', 'b', 'c'].map((Id) => ({ Id, MessageBody: Id })));
    const [a, b, c] = await receive(QueueUrl);
    const deleted = await sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl,
        Entries: [
          { Id: 'a', ReceiptHandle: a?.ReceiptHandle },
          { Id: 'bad', ReceiptHandle: 'nonsense' },
        ],
      }),
    );
    expect(deleted).toMatchObject({
      Successful: [{ Id: 'a' }],
      Failed: [{ Id: 'bad', Code: 'ReceiptHandleIsInvalid' }],
    });
    const changed = await sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl,
        Entries: [
          { Id: 'deleted', ReceiptHandle: a?.ReceiptHandle, VisibilityTimeout: 0 },
          { Id: 'b', ReceiptHandle: b?.ReceiptHandle, VisibilityTimeout: 0 },
          { Id: 'long', ReceiptHandle: c?.ReceiptHandle, VisibilityTimeout: 43_201 },
        ],
      }),
    );
    expect(changed.Successful?.map(({ Id }) => Id)).toEqual(['b']);
    expect(changed.Failed?.map(({ Id, Code }) => [Id, Code])).toEqual([
      ['deleted', 'InvalidParameterValue'],
      ['long', 'InvalidParameterValue'],
    ]);
  });
});

it('ChangeMessageVisibility returns MessageNotInflight for a visible message', async () => {
  await send('a');
  const [message] = await receive(QueueUrl);
  const ReceiptHandle = message?.ReceiptHandle;
  const change = new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 });
  await sqs.send(change);
  await expect(sqs.send(change)).rejects.toMatchObject({ name: 'MessageNotInflight' });
});

it('a queue returns its message counts, and is listed and purged', async () => {
  await sendBatch([
    { Id: 'a', MessageBody: 'a' },
    { Id: 'b', MessageBody: 'b' },
    { Id: 'c', MessageBody: 'c', DelaySeconds: 60 },
  ]);
  await receive(QueueUrl, { MaxNumberOfMessages: 1 });
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
  expect(Attributes).toMatchObject({
    QueueArn: 'arn:aws:sqs:us-east-1:000000000000:jobs',
    ApproximateNumberOfMessages: '1',
    ApproximateNumberOfMessagesNotVisible: '1',
    ApproximateNumberOfMessagesDelayed: '1',
  });
  const { QueueUrls } = await sqs.send(new ListQueuesCommand());
  expect(QueueUrls).toEqual([queue.settings.url, deadLetterQueue.settings.url]);
  await sqs.send(new PurgeQueueCommand({ QueueUrl }));
  expect(queue.messages).toEqual([]);
});
