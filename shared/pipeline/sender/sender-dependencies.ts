import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import type { FailedMessages } from '../../adapters/deliveries/failed-messages.ts';
import type { IncidentLocks } from '../../adapters/deliveries/incident-locks.ts';
import type { IsTenantThrottled } from '../../adapters/dynamodb/errors.ts';
import type { Queues } from '../../adapters/queues.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { FailureReason } from '../../contracts/outcomes.ts';
import type { StringMap } from '../../contracts/text.ts';
import type { Clock } from '../../domain/clock.ts';
import type { DeliveryResult } from '../../domain/delivery-result.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import type { Summary } from '../../domain/summary.ts';
import type { Transport } from '../../domain/transport.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';

/** The type, transport, repository, queues and settings of a sender. */
export type SenderDependencies = {
  type: NotificationTypeId;
  transport: Transport;
  accounts: Pick<AccountRepository, 'isShadowed' | 'summaries'>;
  deliveries: DeliveryRepository;
  incidentLocks: IncidentLocks;
  failedMessages: FailedMessages;
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
  /** Absent for types without summaries. */
  createSummaries?: CreateSummaries | undefined;
  /** Returns why nothing is sent, for an alert that would be listed in a summary, or undefined. */
  refusalOf?: RefusalOf | undefined;
};

/** Returns why nothing is sent to a destination of a tenant, or undefined. */
export type RefusalOf = (tenant: string, details: StringMap) => Promise<FailureReason | undefined>;

/**
 * Creates what the senders of types with summaries do about them (`createSummaries`).
 *
 * @param sendAgain releases the claim of an alert and sends its message again
 */
export type CreateSummaries = (
  dependencies: Pick<SenderDependencies, 'type' | 'accounts' | 'queues' | 'delayedQueueUrls' | 'clock'>,
  sendAgain: (delivery: ClaimedDelivery) => Promise<DeliveryResult>,
) => Summaries;

/** What the senders of types with summaries do about them. */
export type Summaries = {
  /**
   * Reads the alarms of a summary, also into its record.
   *
   * @returns `late` without time for that and to send it, `empty` if a worker that queued the summary crashed before it
   *   stored an alert, which another summary then lists
   */
  read: (delivery: ClaimedDelivery) => Promise<Summary | 'late' | 'empty'>;
  /**
   * Lists an alert in the summary of its window if the account summarizes and the window has had its first alerts. An
   * alert is counted once, at its first attempt.
   *
   * @param refuse ends the delivery of an alert that must not be listed, because nothing is sent to its destination
   * @returns the result of the message, or undefined if the alert must be sent
   */
  unlessFirst: (
    delivery: ClaimedDelivery,
    target: DeliveryTarget,
    refuse: () => Promise<DeliveryResult | undefined>,
  ) => Promise<DeliveryResult | undefined>;
  /** Lists an alert above the daily limit in the summary of the hour. */
  aboveLimit: (delivery: ClaimedDelivery, target: DeliveryTarget) => Promise<DeliveryResult>;
};
