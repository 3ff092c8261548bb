import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createFailedMessages } from '../../shared/adapters/deliveries/failed-messages.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { createSummarizedAlerts, type SummarizedAlerts } from '../../shared/adapters/deliveries/summarized-alerts.ts';
import { notificationTypes } from '../../shared/contracts/notification-types.ts';
import { decisionsWithoutSummaries } from '../../shared/pipeline/sender/decisions.ts';
import type { SenderParts } from '../../shared/pipeline/sender/deliver.ts';
import type { SenderDependencies } from '../../shared/pipeline/sender/delivery-job.ts';
import { createSummaries, type RefusalOf } from '../../shared/pipeline/sender/summarize.ts';
import { queueUrl, senderQueueUrls } from './queue-urls.ts';

/** What a test must give, and what it may replace. */
export type SenderOptions = Pick<SenderDependencies, 'type' | 'queues' | 'clock'> &
  Pick<SenderParts, 'transport'> &
  Partial<SenderDependencies & SenderParts> & {
    summarizedAlerts?: Partial<SummarizedAlerts>;
    isNearLimit?: () => Promise<boolean>;
    refusalOf?: RefusalOf;
  };

/** Returns the dependencies and the parts of a type's sender on a database. */
export const senderOf = (
  database: DynamoDBDocumentClient,
  {
    transport,
    isSlow = () => false,
    summarizedAlerts,
    isNearLimit = async () => false,
    refusalOf,
    ...given
  }: SenderOptions,
): { dependencies: SenderDependencies; parts: SenderParts } => {
  const dependencies: SenderDependencies = {
    deliveries: createDeliveryRepository(database, 'deliveries'),
    incidentLocks: createIncidentLocks(database, 'deliveries'),
    failedMessages: createFailedMessages(database, 'deliveries'),
    queueUrls: senderQueueUrls,
    retryQueueUrl: queueUrl(`${given.type}-Retries`),
    deadLetterQueueUrl: queueUrl('DeadLetters'),
    retryDelayScale: 1,
    accounts: { isShadowed: async () => false, summaries: async () => undefined },
    isTenantThrottled: () => false,
    ...given,
  };
  if (notificationTypes[given.type].summarizedAfter === null) {
    return { dependencies, parts: { isSlow, decisions: decisionsWithoutSummaries, transport } };
  }
  const alerts = { ...createSummarizedAlerts(database, 'deliveries'), ...summarizedAlerts };
  const { decisions, endAboveLimit } = createSummaries(dependencies, alerts, isNearLimit);
  return { dependencies, parts: { isSlow, decisions: decisions(refusalOf), transport, endAboveLimit } };
};
