import { createSnsClient } from '../../adapters/sns.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { operatorMessage } from '../../domain/operator-message.ts';
import { sendTimeoutMs, type Transport } from '../../domain/transport.ts';
import type { DailyLimit } from '../daily-limit.ts';

/**
 * Creates the transport of `managed` notifications, which publishes to the operators' topic. Delivered means accepted
 * by SNS.
 */
export const createManagedTransport = (topicArn: string, dailyLimit: DailyLimit): Transport => {
  const { publishToTopic } = createSnsClient();
  return async ({ event, timeLeft }) => {
    const limitExceeded = await dailyLimit(event.tenant_id);
    if (limitExceeded) return limitExceeded;
    const message = operatorMessage(event);
    try {
      await publishToTopic(topicArn, message, sendTimeoutMs(timeLeft));
      return { result: 'delivered', explanation: 'Success: Operators were told' };
    } catch (error) {
      return awsFailure('sns', error);
    }
  };
};
