import { ReceiveMessageCommand, SendMessageCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { message, queueOf } from '../support/queues.ts';
import { useServedQueues } from '../support/served-queues.ts';

const { clock, queue, deadLetterQueue, queues, sqs } = useServedQueues(2);
const QueueUrl = '/000000000000/jobs';

const send = (QueueUrl: string, MessageBody: string) => sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
/** Receives the messages of a queue `count` times, each time after their visibility timeouts have expired. */
const receiveRepeatedly = async (QueueUrl: string, count: number) => {
  for (let index = 0; index < count; index += 1) {
    await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
    clock.advance(30);
  }
};
const deadLetter = async (body: string) => {
  await send(QueueUrl, body);
  await receiveRepeatedly(QueueUrl, 3);
};

describe('a move task', () => {
  const SourceArn = deadLetterQueue.settings.arn;

  it('returns dead letters to their source queue as new messages', async () => {
    await deadLetter('a');
    const [id] = deadLetterQueue.messages.map((message) => message.id);
    const { TaskHandle } = await sqs.send(new StartMessageMoveTaskCommand({ SourceArn }));
    expect(TaskHandle).toBeDefined();
    expect(queue.messages).toMatchObject([{ body: 'a', receiveCount: 0 }]);
    expect(queue.messages[0]?.id).not.toBe(id);
  });

  it('moves 500 messages per second, and is the only task of its source', async () => {
    for (let index = 0; index < 501; index += 1) queue.send(message('a'));
    while (deadLetterQueue.counts.visible < 501) {
      await queue.receive({ maxMessages: 501, waitSeconds: 0 });
      clock.advance(30);
    }
    await sqs.send(new StartMessageMoveTaskCommand({ SourceArn }));
    expect(queue.messages).toHaveLength(500);
    await expect(sqs.send(new StartMessageMoveTaskCommand({ SourceArn }))).rejects.toMatchObject({
      name: 'UnsupportedOperation',
    });
    clock.advance(1);
    expect(queue.messages).toHaveLength(501);
  });

  it('cannot have a source that is not a dead-letter queue', async () => {
    const start = new StartMessageMoveTaskCommand({ SourceArn: queue.settings.arn });
    await expect(sqs.send(start)).rejects.toMatchObject({
      name: 'InvalidParameterValue',
      message: 'Source queue must be configured as a Dead Letter Queue.',
    });
  });

  it('returns each message of a shared dead-letter queue to its source queue', async () => {
    const other = queueOf(clock, { name: 'other' });
    other.redrive = { target: deadLetterQueue, maxReceiveCount: 1 };
    queues.push(other);
    const OtherUrl = '/000000000000/other';
    await send(OtherUrl, 'b');
    await receiveRepeatedly(OtherUrl, 2);
    await deadLetter('a');
    expect(deadLetterQueue.messages).toHaveLength(2);
    await sqs.send(new StartMessageMoveTaskCommand({ SourceArn }));
    expect(queue.messages).toMatchObject([{ body: 'a' }]);
    expect(other.messages).toMatchObject([{ body: 'b' }]);
    queues.pop();
  });
});
