import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { onceConfig } from '../../adapters/aws-client.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { operatorMessage } from '../../domain/operator-message.ts';
import { sendTimeoutMs, type Transport } from '../../domain/transport.ts';
import type { DailyLimit } from '../daily-limit.ts';

/** Delivers to a `managed` notification: publishes to the topic of the service's operators. Delivered means accepted by SNS. */
export const createManagedTransport = (topicArn: string, dailyLimit: DailyLimit): Transport => {
  const client = new SNSClient(onceConfig);
  return async ({ event, timeLeft }) => {
    const overLimit = await dailyLimit(event.tenant_id);
    if (overLimit) return overLimit;
    const { subject, text } = operatorMessage(event);
    try {
      await client.send(new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: text }), {
        requestTimeout: sendTimeoutMs(timeLeft),
      });
      return { result: 'delivered', explanation: 'Success: Operators were told' };
    } catch (error) {
      return awsFailure('sns', error);
    }
  };
};
