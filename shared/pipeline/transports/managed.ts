import { createSnsClient } from '../../adapters/sns.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { sendTimeoutMs } from '../../domain/timeouts.ts';
import type { Transport } from '../../domain/transport.ts';
import type { DailyLimit } from '../daily-limit.ts';
import { operatorMessage } from './operator-message.ts';

/**
 * Creates the transport of `managed` notifications, which publishes to the operators' topic. Delivered means accepted
 * by SNS.
 *
 * @param noticeLimit the daily limit of escalations, which a tenant's other messages to the operators do not use up
 */
export const createManagedTransport = (
  topicArn: string,
  dailyLimit: DailyLimit,
  noticeLimit: DailyLimit,
): Transport => {
  const { publishToTopic } = createSnsClient();
  return (alert) =>
    (alert.notice ? noticeLimit : dailyLimit)(alert.event.tenant_id, async () => {
      const timeoutMs = sendTimeoutMs(alert.timeLeft);
      try {
        await publishToTopic(topicArn, operatorMessage(alert), timeoutMs);
        return { result: 'delivered', explanation: 'Success: Operators were told' };
      } catch (error) {
        return awsFailure('sns', error);
      }
    });
};
