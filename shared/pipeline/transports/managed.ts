import { createSnsClient } from '../../adapters/sns.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { sendTimeoutMs } from '../../domain/timeouts.ts';
import type { Transport } from '../../domain/transport.ts';
import type { DailyLimit } from '../daily-limit.ts';
import { operatorMessage } from './operator-message.ts';

/** Publishes to the operators' topic. A tenant's other messages do not use up the limit of escalations. */
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
