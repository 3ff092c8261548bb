import type { DeliveryFilter, DeliveryReader } from '../adapters/deliveries/delivery-reader.ts';
import type { ReadDestinationList } from '../adapters/deliveries/destination-list.ts';
import type { FailureReader, NotificationFailures } from '../adapters/deliveries/notification-failures.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import { omitUnreadable, type TargetPage } from '../adapters/notifications/notification-targets.ts';
import type { Page, Slice } from '../contracts/collection.ts';
import type { FoundDelivery, ListedDelivery, ListedFailures } from '../contracts/responses/deliveries.ts';
import { deliveryKey, historyMarker, parseDeliveryPartition, sortKeyOfMarker } from '../domain/delivery-key.ts';
import type { DeliveryRecord } from '../domain/delivery-record.ts';
import { isExpired, listedDelivery } from '../domain/delivery-status.ts';
import { malformedMarker, notFound } from '../domain/errors.ts';
import type { DeliveryTarget, NotificationKey } from '../domain/notification.ts';
import { isNotificationId } from '../domain/notification-id.ts';
import type { Clock } from '../domain/time.ts';
import { type DeliverySelection, takeFitting, takePage } from './request.ts';

/**
 * Creates the function that returns a page of a notification's deliveries, newest first. The marker of a page is that of
 * the last record before it (docs/decisions/api.md#delivery-history). `withResponses` adds those of the destination.
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
    const before = marker === null ? undefined : sortKeyOfMarker(marker);
    if (marker !== null && before === undefined) throw malformedMarker();

    const ofEvent = async (eventId: string) => {
      const records = await deliveries.readAll([deliveryKey({ tenant_id: key.tenant, event_id: eventId }, key.id)]);
      return { records: records.filter(({ sk }) => before === undefined || sk < before), before: undefined };
    };
    const page =
      'eventId' in selection
        ? await ofEvent(selection.eventId)
        : // One more than the page, to know whether it is the last one.
          await deliveries.listPage(key, { limit: limit + 1, before, filter: selection.filter });
    const nowMs = clock();
    const records = page.records.filter((record) => !isExpired(record, nowMs));

    const hasRecord = async (): Promise<boolean> => (await deliveries.listPage(key, { limit: 1 })).records.length > 0;
    const isEmpty = page.records.length === 0 && page.before === undefined;
    if (isEmpty && !(await notifications.exists(key)) && !(await hasRecord())) throw notFound('The notification');

    const { values, rest } = await takeFitting(
      records.map((record) => listedDelivery(record, withResponses)),
      limit,
    );
    const last = rest === undefined ? page.before : records[values.length - 1]?.sk;
    return { values, next: last === undefined ? null : historyMarker(last) };
  };

const MAX_NOTIFICATIONS = 25;

/**
 * Beside one for each notification: 1 MB, as much as one query reads. The query of notifications can cost 128; twice as
 * many if it were strongly consistent, which would leave none for records.
 */
const MAX_READ_UNITS = 256;

/** That of nine attempts with response texts of 1 KB. */
const MAX_RECORD_UNITS = 3;

/** To start a further query, of 30 s: requests share the concurrency of the account. */
const MIN_TIME_LEFT_MS = 25_000;

/** Sorts before all IDs. `$` sorts before all characters of IDs, which have one length. */
const FIRST = 'nt';
const afterId = (id: string): string => `${id}$`;

export type SearchDependencies = {
  notifications: Pick<NotificationRepository, 'listTargets'>;
  deliveries: Pick<DeliveryReader, 'listPage' | 'readAll'>;
  readDestinationList: ReadDestinationList;
};

/** `timeLeft` returns the milliseconds until the function times out. */
type Search = { tenant: string; withResponses: boolean; limit: number; timeLeft: () => number };

/**
 * Returns the notification of a marker, after which a search continues, and its rest:
 *   `<ID>-<history marker>` continues with the notification, below this record
 *   `<ID>-<other ID>`       of an event: the record of the other one lists its destinations
 * @throws ServiceError 400
 */
const parseMarker = (marker: string): { id: string; rest: string | undefined } => {
  const end = marker.indexOf('-');
  const [id, rest] = end < 0 ? [marker] : [marker.slice(0, end), marker.slice(end + 1)];
  if (id === undefined || !isNotificationId(id)) throw malformedMarker();
  return { id, rest };
};

const notificationIdOf = ({ pk }: DeliveryRecord): string => parseDeliveryPartition(pk).id;

/**
 * Creates the search for deliveries across the notifications of a tenant, by ID of the notification, then newest first
 * (docs/decisions/api.md#delivery-search). A page can be empty although there is a next one.
 * @throws ServiceError 400 if the marker is malformed
 */
export const createDeliverySearch = (
  { notifications, deliveries, readDestinationList }: SearchDependencies,
  clock: Clock = Date.now,
) => {
  const isCurrent = (record: DeliveryRecord): boolean => !isExpired(record, clock());

  const listTargets = (tenant: string, from: string): Promise<TargetPage> =>
    notifications.listTargets(tenant, { from, limit: MAX_NOTIFICATIONS, isConsistent: false });

  const createListing = ({ withResponses }: Search, targets: readonly DeliveryTarget[]) => {
    const byId = new Map(targets.map((target) => [target.id, target]));
    return (record: DeliveryRecord): FoundDelivery => {
      const id = notificationIdOf(record);
      const { type = null, label = null } = byId.get(id) ?? {};
      return { notification_id: id, notification_label: label, type, ...listedDelivery(record, withResponses) };
    };
  };

  const findMatching = async (search: Search, filter: DeliveryFilter, marker: string | null) => {
    const { tenant, limit, timeLeft } = search;
    const start = marker === null ? undefined : parseMarker(marker);
    const startBefore = start?.rest === undefined ? undefined : sortKeyOfMarker(start.rest);
    if (start?.rest !== undefined && startBefore === undefined) throw malformedMarker();
    const from = start === undefined ? FIRST : startBefore === undefined ? afterId(start.id) : start.id;
    const { targets, next, readUnits } = await listTargets(tenant, from);
    const list = createListing(search, targets);
    const markers: string[] = [];
    let unitsLeft = MAX_READ_UNITS - Math.max(0, readUnits - MAX_NOTIFICATIONS);
    /** Where the next page continues if this one is not full. */
    let reached: string | null = marker;

    async function* matching(): AsyncGenerator<FoundDelivery> {
      for (const { id } of targets) {
        let before = id === start?.id ? startBefore : undefined;
        do {
          // A query reads at most 1 MB, so the first one needs no limit if that is left.
          const maxRead = unitsLeft === MAX_READ_UNITS ? undefined : Math.floor(unitsLeft / MAX_RECORD_UNITS);
          if (maxRead === 0 || (reached !== marker && timeLeft() < MIN_TIME_LEFT_MS)) return;
          const options = { limit: limit + 1, before, filter, maxRead };
          const page = await deliveries.listPage({ tenant, id }, options);
          unitsLeft = Math.max(0, unitsLeft - page.readUnits);
          for (const record of page.records.filter(isCurrent)) {
            markers.push(`${id}-${historyMarker(record.sk)}`);
            yield list(record);
          }
          before = page.before;
          reached = before === undefined ? id : `${id}-${historyMarker(before)}`;
        } while (before !== undefined);
      }
      reached = next;
    }

    const { values, rest } = await takeFitting(matching(), limit);
    return { values, next: rest === undefined ? reached : (markers[values.length - 1] ?? null) };
  };

  const destinationsOf = async (tenant: string, eventId: string): Promise<string[]> =>
    (await readDestinationList(deliveryKey({ tenant_id: tenant, event_id: eventId }, FIRST))) ?? [];

  /**
   * Returns a page of an event's deliveries. Deleted notifications are found if the list of the event's destinations is
   * stored, or if a record that was found lists the other ones.
   */
  const findOfEvent = async (search: Search, eventId: string, marker: string | null) => {
    const { tenant, limit } = search;
    const { id: after, rest: witnessId } = marker === null ? {} : parseMarker(marker);
    if (witnessId !== undefined && !isNotificationId(witnessId)) throw malformedMarker();
    const from = after === undefined ? FIRST : afterId(after);
    const [{ targets, next: lastTarget }, destinations] = await Promise.all([
      listTargets(tenant, from),
      destinationsOf(tenant, eventId),
    ]);
    const known = targets.map(({ id }) => id);
    const isInRange = (id: string): boolean =>
      isNotificationId(id) && id >= from && (lastTarget === null || id <= lastTarget);
    const sorted = [...new Set([...known, ...destinations.filter(isInRange)])].sort();
    const ids = sorted.slice(0, MAX_NOTIFICATIONS);
    const last = ids.length < sorted.length ? (ids.at(-1) ?? null) : lastTarget;

    const readOf = async (wanted: readonly string[]): Promise<DeliveryRecord[]> => {
      const keys = wanted.map((id) => deliveryKey({ tenant_id: tenant, event_id: eventId }, id));
      return (await deliveries.readAll(keys)).filter(isCurrent);
    };
    const [records, witnesses] = [await readOf(ids), await readOf(witnessId === undefined ? [] : [witnessId])];
    const witness = [...witnesses, ...records].find(({ siblings }) => siblings !== undefined);
    // Only records of events with at most 26 destinations list them, so no more than 25 of these exist.
    const others = new Set(witness?.siblings?.filter((id) => isInRange(id) && !ids.includes(id)));
    const found = [...records, ...(await readOf([...others].filter((id) => last === null || id <= last)))];
    const ordered = found.toSorted((left, right) => (left.pk < right.pk ? -1 : 1));

    const list = createListing(search, targets);
    const { values, rest } = await takeFitting(ordered.map(list), limit);
    const end = rest === undefined ? last : (values.at(-1)?.notification_id ?? null);
    return { values, next: end !== null && witness ? `${end}-${notificationIdOf(witness)}` : end };
  };

  return (
    selection: DeliverySelection,
    { limit, marker }: Page,
    caller: Omit<Search, 'limit'>,
  ): Promise<Slice<FoundDelivery>> => {
    const search = { ...caller, limit };
    return 'eventId' in selection
      ? findOfEvent(search, selection.eventId, marker)
      : findMatching(search, selection.filter, marker);
  };
};

/** The maximum number of notifications on a page: the last success of each is a query. */
const MAX_FAILING_NOTIFICATIONS = 100;

/** As tenants see them (docs/api.md#failures). */
export const failureFields = (failures: Omit<NotificationFailures, 'notificationId'>) => ({
  failed: failures.failedCount,
  first_failed_at: failures.firstFailedAtMs,
  last_failed_at: failures.lastFailedAtMs,
  last_reason: failures.lastReason ?? null,
});

/**
 * Creates the function that returns a page of a tenant's notifications with failures, by ID. It omits deleted and
 * unreadable notifications: nothing deletes the failures of a notification before they expire.
 */
export const createFailureList = (
  failures: FailureReader,
  notifications: Pick<NotificationRepository, 'targets'>,
): ((tenant: string, page: Page) => Promise<Slice<ListedFailures>>) => {
  async function* existing(tenant: string, start: string | null, groupSize: number) {
    for await (const group of failures.list(tenant, start, groupSize)) {
      const targets = notifications.targets(group.map(({ notificationId: id }) => ({ tenant, id })));
      for (const found of group) {
        const id = found.notificationId;
        const target = await targets.find({ tenant, id }).catch(omitUnreadable);
        if (target) yield { id, target, found };
      }
    }
  }

  return async (tenant, { limit, marker }) => {
    const maxCount = Math.min(limit, MAX_FAILING_NOTIFICATIONS);
    const { values, next } = await takePage(existing(tenant, marker, maxCount + 1), maxCount);
    const listed = values.map(async ({ id, target, found }) => ({
      notification_id: id,
      notification_label: target.label ?? null,
      type: target.type,
      ...failureFields(found),
      last_delivered_at: await failures.lastDeliveredAtMs({ tenant, id }, found.firstFailedAtMs),
    }));
    return { values: await Promise.all(listed), next };
  };
};
