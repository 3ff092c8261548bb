import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createFailedMessages } from '../../shared/adapters/deliveries/failed-messages.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { createSummarizedAlerts, type SummarizedAlerts } from '../../shared/adapters/deliveries/summarized-alerts.ts';
import { notificationTypes } from '../../shared/contracts/notification-types.ts';
import type { SenderDependencies } from '../../shared/pipeline/sender/sender-dependencies.ts';
import { createSummaries } from '../../shared/pipeline/sender/summarize.ts';
import { queueUrl, senderQueueUrls } from './queue-urls.ts';

type Required = 'type' | 'transport' | 'queues' | 'clock';

/** What the tests of summaries replace. */
export type SummaryFakes = { summarizedAlerts?: Partial<SummarizedAlerts>; isNearLimit?: () => Promise<boolean> };

/** Returns the dependencies of a type's sender on a database. */
export const senderDependencies = (
  database: DynamoDBDocumentClient,
  {
    summarizedAlerts,
    isNearLimit = async () => false,
    ...given
  }: Pick<SenderDependencies, Required> & Partial<SenderDependencies> & SummaryFakes,
): SenderDependencies => ({
  deliveries: createDeliveryRepository(database, 'deliveries'),
  incidentLocks: createIncidentLocks(database, 'deliveries'),
  failedMessages: createFailedMessages(database, 'deliveries'),
  queueUrls: senderQueueUrls,
  delayedQueueUrls: senderQueueUrls,
  retryQueueUrl: queueUrl(`${given.type}-Retries`),
  deadLetterQueueUrl: queueUrl('DeadLetters'),
  retryDelayScale: 1,
  accounts: { isShadowed: async () => false, summaries: async () => undefined },
  isTenantThrottled: () => false,
  isSlowTenant: () => false,
  createSummaries:
    notificationTypes[given.type].summarizedAfter === null
      ? undefined
      : createSummaries({ ...createSummarizedAlerts(database, 'deliveries'), ...summarizedAlerts }, isNearLimit),
  ...given,
});
