import type { DeliveryFilter, DeliveryReader } from '../adapters/deliveries/delivery-reader.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import type { Page, Slice } from '../contracts/collection.ts';
import type { ListedDelivery } from '../contracts/responses/deliveries.ts';
import type { Clock } from '../domain/clock.ts';
import { isExpired, listedDelivery } from '../domain/delivery-history.ts';
import { deliveryKey, historyMarker, sortKeyOfMarker } from '../domain/delivery-key.ts';
import type { DeliveryRecord } from '../domain/delivery-record.ts';
import { malformedMarker, notFound } from '../domain/errors.ts';
import type { NotificationKey } from '../domain/notification.ts';
import { isNotificationId } from '../domain/notification-id.ts';
import { takeFitting } from './paging.ts';
import type { DeliverySelection } from './time-parameters.ts';

/** Records of a page, and the sort key that the next page must be below, if any. */
type Found = { records: DeliveryRecord[]; before: string | undefined };

/**
 * Creates the function that returns a page of a notification's deliveries, newest first. The marker of a page is that of
 * the last record before it, so a record that is added or expires between two requests shifts no page
 * (docs/decisions/api.md#delivery-history).
 *
 * `withResponses` adds the responses of the destination to the attempts.
 *
 * @throws ServiceError 400 if the marker is malformed; 404 if the tenant has neither the notification nor a record of it
 */
export const createDeliveryHistory =
  (
    deliveries: Pick<DeliveryReader, 'listPage' | 'readAll'>,
    notifications: Pick<NotificationRepository, 'exists'>,
    clock: Clock = Date.now,
  ) =>
  async (
    key: NotificationKey,
    { limit, marker }: Page,
    selection: DeliverySelection,
    withResponses: boolean,
  ): Promise<Slice<ListedDelivery>> => {
    if (!isNotificationId(key.id)) throw notFound('The notification');
    const notification = { tenant: key.tenant, notificationId: key.id };
    const before = marker === null ? undefined : sortKeyOfMarker(marker);
    if (marker !== null && before === undefined) throw malformedMarker();

    const ofEvent = async (eventId: string): Promise<Found> => {
      const records = await deliveries.readAll([deliveryKey({ tenant_id: key.tenant, event_id: eventId }, key.id)]);
      return { records: records.filter(({ sk }) => before === undefined || sk < before), before: undefined };
    };
    // One more than the page, to know whether it is the last one.
    const matching = (filter: DeliveryFilter): Promise<Found> =>
      deliveries.listPage(notification, { limit: limit + 1, before, filter });

    const page = 'eventId' in selection ? await ofEvent(selection.eventId) : await matching(selection.filter);
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
