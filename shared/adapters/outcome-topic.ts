import { PublishBatchCommand, SNSClient } from '@aws-sdk/client-sns';
import type { MessageBody } from '../contracts/messages.ts';
import { awsConfig } from './aws-client.ts';

/** The maximum number of messages in a batch (AWS limit). */
export const MAX_PUBLISHED = 10;

export type TopicMessage = { body: MessageBody; attributes: Readonly<Record<string, string>> };

/** The result of a message: `rejected` if SNS never accepts it. */
export type PublishResult = 'published' | 'rejected' | 'failed';

const messageAttributes = (attributes: TopicMessage['attributes']) =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: 'String', StringValue }]),
  );

/** The SDK repeats the calls, because subscribers expect duplicates. */
export const createOutcomeTopic = (topicArn: string, client: SNSClient = new SNSClient(awsConfig())) => ({
  /** Publishes up to ten messages. @returns their results, in order @throws the error of the SDK if all fail */
  async publish(messages: readonly TopicMessage[]): Promise<PublishResult[]> {
    const { Failed = [] } = await client.send(
      new PublishBatchCommand({
        TopicArn: topicArn,
        PublishBatchRequestEntries: messages.map(({ body, attributes }, index) => ({
          Id: String(index),
          Message: body,
          MessageAttributes: messageAttributes(attributes),
        })),
      }),
    );
    const failures = new Map(Failed.map(({ Id, Code, SenderFault }) => [Id, { Code, SenderFault }]));
    return messages.map((_, index) => {
      const failure = failures.get(String(index));
      if (!failure) return 'published';
      // Other errors that SNS blames on the sender, such as denied access, can be repaired.
      return failure.SenderFault && failure.Code?.startsWith('InvalidParameter') ? 'rejected' : 'failed';
    });
  },
});

export type OutcomeTopic = ReturnType<typeof createOutcomeTopic>;
