import type { DeliveryFilter, DeliveryRepository } from '../adapters/deliveries/delivery-repository.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import type { Page, Slice } from '../contracts/collection.ts';
import { type DeliveryStatus, deliveryStatuses } from '../contracts/outcomes.ts';
import type { Clock } from '../domain/clock.ts';
import { isExpired, type ListedDelivery, listedDelivery } from '../domain/delivery-history.ts';
import { historyMarker, sortKeyOfMarker } from '../domain/delivery-key.ts';
import { badRequest, notFound } from '../domain/errors.ts';
import type { NotificationKey } from '../domain/notification.ts';
import { isNotificationId } from '../domain/notification-id.ts';
import { takeFitting } from './paging.ts';

const isDeliveryStatus = (text: string): text is DeliveryStatus => deliveryStatuses.some((status) => status === text);

/** Returns the filter that a query string requests. @throws ServiceError 400 */
export const parseDeliveryFilter = (query: URLSearchParams): DeliveryFilter => {
  const [status, alarmId] = [query.get('status') ?? undefined, query.get('alarm_id') ?? undefined];
  if (status !== undefined && !isDeliveryStatus(status)) {
    throw badRequest(`status: must be one of ${deliveryStatuses.join(', ')}`);
  }
  if (alarmId === '') throw badRequest('alarm_id: must not be empty');
  return { status, alarmId };
};

/**
 * Creates the function that returns a page of a notification's deliveries, newest first. The marker of a page is that of the last record before it, so a record that is
 * added or expires between two requests shifts no page (docs/decisions/api.md#delivery-history).
 *
 * `withResponses` adds the responses of the destination to the attempts.
 *
 * @throws ServiceError 400 if the marker is malformed; 404 if the tenant has neither the notification nor a record of it
 */
export const createDeliveryHistory =
  (
    deliveries: Pick<DeliveryRepository, 'listPage'>,
    notifications: Pick<NotificationRepository, 'exists'>,
    clock: Clock = Date.now,
  ) =>
  async (
    key: NotificationKey,
    { limit, marker }: Page,
    filter: DeliveryFilter,
    withResponses: boolean,
  ): Promise<Slice<ListedDelivery>> => {
    if (!isNotificationId(key.id)) throw notFound('The notification');
    const notification = { tenant: key.tenant, notificationId: key.id };
    const before = marker === null ? undefined : sortKeyOfMarker(marker);
    if (marker !== null && before === undefined) throw badRequest('marker: must be the next_marker of a response');
    // One more than the page, to know whether it is the last one.
    const page = await deliveries.listPage(notification, { limit: limit + 1, before, filter });
    const nowMs = clock();
    const records = page.records.filter((record) => !isExpired(record, nowMs));

    const hasRecord = async (): Promise<boolean> =>
      (await deliveries.listPage(notification, { limit: 1 })).records.length > 0;
    // These reads are needed only to distinguish an empty history from an unknown notification.
    if (page.records.length === 0 && page.before === undefined) {
      if (!(await notifications.exists(key)) && !(await hasRecord())) throw notFound('The notification');
    }

    const { values, rest } = await takeFitting(
      records.map((record) => listedDelivery(record, withResponses)),
      limit,
    );
    const last = rest === undefined ? page.before : records[values.length - 1]?.sk;
    return { values, next: last === undefined ? null : historyMarker(last) };
  };
