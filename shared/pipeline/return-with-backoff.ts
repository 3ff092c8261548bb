import type { SQSRecord } from 'aws-lambda';
import { errorTrace, logger } from '../adapters/logger.ts';
import type { Queues } from '../adapters/queues.ts';
import { internalErrorDelayMs } from '../domain/retry-schedule.ts';

/**
 * Returns a message that could not be processed yet to its queue, with a visibility timeout that grows with its receive
 * count (docs/decisions/deliveries.md#internal-errors). Never rejects: if the timeout cannot be changed, the message
 * returns when its current timeout ends. The caller must also report the message as a batch item failure.
 *
 * @param logFields fields of the log line about a failed change
 */
export const returnWithBackoff = async (
  queues: Pick<Queues, 'changeVisibility'>,
  queueUrl: string,
  message: SQSRecord,
  retryDelayScale = 1,
  logFields: Record<string, string> = {},
): Promise<void> => {
  const delayMs = internalErrorDelayMs(Number(message.attributes.ApproximateReceiveCount), retryDelayScale);
  await queues.changeVisibility(queueUrl, message, delayMs).catch((error: unknown) =>
    logger.error('visibility change failed', {
      ...logFields,
      message_id: message.messageId,
      tenant_id: message.attributes.MessageGroupId,
      ...errorTrace(error),
    }),
  );
};
