import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../support/until.ts';

const sqs = new SQSClient();
/** Queues of their own: one whose messages SQS moves to the other after one receive. */
const queues = { source: '', deadLetters: '' };

const create = async (name: string, attributes: Record<string, string> = {}): Promise<{ url: string; arn: string }> => {
  const QueueName = `MonitoringNotifications-${name}-${crypto.randomUUID()}`;
  const { QueueUrl: url = '' } = await sqs.send(new CreateQueueCommand({ QueueName, Attributes: attributes }));
  const { Attributes: { QueueArn: arn = '' } = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
  );
  return { url, arn };
};

const receive = async (QueueUrl: string, VisibilityTimeout = 0): Promise<Message | undefined> => {
  const { Messages: [message] = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl,
      VisibilityTimeout,
      WaitTimeSeconds: 5,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
    }),
  );
  return message;
};

beforeAll(async () => {
  const deadLetters = await create('dead');
  const redrive = { deadLetterTargetArn: deadLetters.arn, maxReceiveCount: 1 };
  const source = await create('source', { RedrivePolicy: JSON.stringify(redrive) });
  Object.assign(queues, { source: source.url, deadLetters: deadLetters.url });
});
afterAll(async () => {
  for (const QueueUrl of [queues.source, queues.deadLetters]) await sqs.send(new DeleteQueueCommand({ QueueUrl }));
  sqs.destroy();
});

/** What the retries and the redrive of crashed messages assume of AWS, and no document confirms. */
it('a standard queue accepts a message with a group and a delay, which keeps its ID, body, group and attributes as a dead letter', async () => {
  const MessageAttributes = { waits: { DataType: 'Number', StringValue: '1' } };
  const sent = { MessageBody: 'body', MessageGroupId: 'acme', DelaySeconds: 5, MessageAttributes };
  await sqs.send(new SendMessageCommand({ QueueUrl: queues.source, ...sent }));
  const first = await until(() => receive(queues.source));
  // The second receive moves the message.
  const moved = await until(async () => {
    await receive(queues.source);
    return receive(queues.deadLetters);
  });
  expect(moved).toMatchObject({
    MessageId: first.MessageId,
    Body: 'body',
    Attributes: { MessageGroupId: 'acme' },
    MessageAttributes,
  });
});
