import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { createFailedMessages } from '../../shared/adapters/deliveries/failed-messages.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { createSummarizedAlerts } from '../../shared/adapters/deliveries/summarized-alerts.ts';
import type { SenderDependencies } from '../../shared/pipeline/sender/sender-dependencies.ts';
import { queueUrl, senderQueueUrls } from './queue-urls.ts';

type Required = 'type' | 'transport' | 'queues' | 'clock';

/** Returns the dependencies of a type's sender on a database. */
export const senderDependencies = (
  database: DynamoDBDocumentClient,
  given: Pick<SenderDependencies, Required> & Partial<SenderDependencies>,
): SenderDependencies => ({
  deliveries: createDeliveryRepository(database, 'deliveries'),
  incidentLocks: createIncidentLocks(database, 'deliveries'),
  summarizedAlerts: createSummarizedAlerts(database, 'deliveries'),
  failedMessages: createFailedMessages(database, 'deliveries'),
  queueUrls: senderQueueUrls,
  delayedQueueUrls: senderQueueUrls,
  retryQueueUrl: queueUrl(`${given.type}-Retries`),
  deadLetterQueueUrl: queueUrl('DeadLetters'),
  retryDelayScale: 1,
  accounts: { isShadowed: async () => false, summaries: async () => undefined },
  isTenantThrottled: () => false,
  isSlowTenant: () => false,
  isNearLimit: async () => false,
  ...given,
});
