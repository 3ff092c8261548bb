import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import type { FailedMessages } from '../../adapters/deliveries/failed-messages.ts';
import type { IncidentLocks } from '../../adapters/deliveries/incident-locks.ts';
import type { SummarizedAlerts } from '../../adapters/deliveries/summarized-alerts.ts';
import type { IsTenantThrottled } from '../../adapters/dynamodb/errors.ts';
import type { Queues } from '../../adapters/queues.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { FailureReason } from '../../contracts/outcomes.ts';
import type { StringMap } from '../../contracts/text.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Transport } from '../../domain/transport.ts';

/** The type, transport, repository, queues and settings of a sender. */
export type SenderDependencies = {
  type: NotificationTypeId;
  transport: Transport;
  accounts: Pick<AccountRepository, 'isShadowed' | 'summaries'>;
  deliveries: DeliveryRepository;
  incidentLocks: IncidentLocks;
  failedMessages: FailedMessages;
  summarizedAlerts: SummarizedAlerts;
  queues: Queues;
  /** The URL of each type's queue for first attempts. */
  queueUrls: Record<NotificationTypeId, string>;
  /** The same, but the retry queue of the own type: the queues of notices that are due later. */
  delayedQueueUrls: Record<NotificationTypeId, string>;
  /** The URL of this type's retry queue. */
  retryQueueUrl: string;
  deadLetterQueueUrl: string;
  retryDelayScale: number;
  clock: Clock;
  isTenantThrottled: IsTenantThrottled;
  /** Returns whether the first attempts of a tenant are moved to the retry queue (`createSlowTenants`, `createSharedRate`). */
  isSlowTenant: (tenant: string) => boolean;
  /** Returns whether a tenant has used more than half of a daily limit of the type. */
  isNearLimit: (tenant: string) => Promise<boolean>;
  /** Returns why nothing is sent, for an alert that would be listed in a summary, or undefined. */
  refusalOf?: RefusalOf | undefined;
};

/** Returns why nothing is sent to a destination of a tenant, or undefined. */
export type RefusalOf = (tenant: string, details: StringMap) => Promise<FailureReason | undefined>;
