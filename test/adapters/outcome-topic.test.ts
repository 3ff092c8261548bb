import { SNSClient } from '@aws-sdk/client-sns';
import type { AwsService } from 'local-aws/aws-service.ts';
import { type PublishedMessage, snsService } from 'local-aws/sns.ts';
import { startEndpoint } from 'local-aws/test/support/endpoint.ts';
import { describe, expect, it } from 'vitest';
import { createOutcomeTopic } from '../../shared/adapters/outcome-topic.ts';
import { serializeBody } from '../../shared/contracts/message-body.ts';

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
