import { type NotificationTypeId, notificationTypeIds } from '../shared/contracts/notification-types.ts';

/** The additional concurrency that a sender reserves for tests. */
const TEST_CONCURRENCY = 10;

/** What Lambda leaves to the functions of an account that reserve nothing (AWS limit). */
export const MIN_UNRESERVED_CONCURRENCY = 100;

/** The settings of concurrent batches. */
type ConcurrencySettings = {
  senderConcurrency: number;
  senderConcurrencyByType: Partial<Record<NotificationTypeId, number | undefined>>;
  dispatchConcurrency: number;
};

/** Returns the maximum number of concurrent batches of first attempts of a type. */
export const senderConcurrency = (
  { senderConcurrency: byDefault, senderConcurrencyByType }: ConcurrencySettings,
  type: NotificationTypeId,
): number => senderConcurrencyByType[type] ?? byDefault;

/** Returns the additional concurrency for the retries of a type. The minimum of an event source mapping is 2. */
export const retryConcurrency = (maxConcurrency: number): number => Math.max(Math.ceil(maxConcurrency / 4), 2);

/** Returns the concurrency that the sender of a type reserves: that of its event sources, and ten for tests. */
export const reservedSenderConcurrency = (settings: ConcurrencySettings, type: NotificationTypeId): number => {
  const maxConcurrency = senderConcurrency(settings, type);
  return maxConcurrency + retryConcurrency(maxConcurrency) + TEST_CONCURRENCY;
};

/** Returns the concurrency that dispatch, which runs no tests, and the senders reserve together. */
export const reservedConcurrency = (settings: ConcurrencySettings): number =>
  notificationTypeIds.reduce(
    (total, type) => total + reservedSenderConcurrency(settings, type),
    settings.dispatchConcurrency,
  );

/** Returns the concurrency that a stack with these settings reserves: 0 unless they say so. */
export const reservedBy = (settings: ConcurrencySettings & { reserveConcurrency: boolean }): number =>
  settings.reserveConcurrency ? reservedConcurrency(settings) : 0;
