import { accountKey } from '../../shared/adapters/accounts/account-repository.ts';
import { getItem } from '../../shared/adapters/dynamodb/items.ts';
import { omitUnreadable } from '../../shared/adapters/notifications/notification-targets.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { truncate } from '../../shared/domain/alert-text.ts';
import { deliveryKey, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { type DeliveryTarget, type NotificationKey, operatorsNotification } from '../../shared/domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { OperationError } from './errors.ts';
import { sanitize } from './print.ts';
import type { Session } from './session.ts';

const MAX_LABEL_LENGTH = 30;

/** What a table shows beside the ID of a notification; null if it was deleted. */
export type Described = { notification_label: string | null; type: NotificationTypeId | null };

export const labelCell = (label: string | null): string => sanitize(truncate(label ?? '–', MAX_LABEL_LENGTH));

/** 1 MB of a query has at least as many targets. */
const PAGE_SIZE = 200;

/** Yields the notifications of a tenant, readable ones only, the default notification last. `$` sorts before all IDs. */
export async function* targetsOf(
  { notifications }: Pick<Session, 'notifications'>,
  tenant: string,
): AsyncGenerator<DeliveryTarget> {
  for (let from: string | null = ''; from !== null; ) {
    const { targets, next } = await notifications.listTargets(tenant, { from: `${from}$`, limit: PAGE_SIZE });
    yield* targets;
    from = next;
  }
}

/** Reads notifications, which may be of several tenants. @returns the function that describes one of them */
export const describeNotifications = async (
  { notifications }: { notifications: Pick<Session['notifications'], 'targets'> },
  keys: readonly NotificationKey[],
): Promise<(key: NotificationKey) => Described> => {
  const textOf = ({ tenant, id }: NotificationKey) => `${id} ${tenant}`;
  const distinct = [...new Map(keys.map((key) => [textOf(key), key])).values()];
  const targets = notifications.targets(distinct);
  const read = async (key: NotificationKey): Promise<readonly [string, Described]> => {
    const stored = await targets.find(key).catch(omitUnreadable);
    const target = key.id === operatorsNotification.id ? operatorsNotification : stored;
    return [textOf(key), { notification_label: target?.label ?? null, type: target?.type ?? null }];
  };
  const described = new Map(await Promise.all(distinct.map(read)));
  return (key) => described.get(textOf(key)) ?? { notification_label: null, type: null };
};

/** Returns the IDs of the notifications of a tenant that can have deliveries, without deleted notifications. */
export const notificationIds = async (session: Session, tenant: string): Promise<string[]> => {
  const listed = await Array.fromAsync(targetsOf(session, tenant), ({ id }) => id);
  // Its deliveries are the escalations of the tenant's alerts. It is not stored, so the list does not contain it.
  return [...listed, OPERATORS_NOTIFICATION_ID];
};

export type RecordedEvent = { tenant: string; eventId: string; ids: Iterable<string> };

type EventRecord = DeliveryRecord & { notification: string };

/**
 * Returns the delivery records of events, in the order of the events, strongly consistent: one read per 100
 * notifications.
 */
export const recordsOfEvents = async (
  { deliveries }: Pick<Session, 'deliveries'>,
  events: readonly RecordedEvent[],
): Promise<EventRecord[][]> => {
  const keysOf = ({ tenant, eventId, ids }: RecordedEvent) =>
    [...new Set(ids)].map((id) => deliveryKey({ tenant_id: tenant, event_id: eventId }, id));
  const textOf = ({ pk, sk }: Pick<DeliveryRecord, 'pk' | 'sk'>) => `${sk} ${pk}`;
  const keys = events.map(keysOf);
  const all = new Map(keys.flat().map((key) => [textOf(key), key]));
  const records = new Map((await deliveries.readAll([...all.values()])).map((record) => [textOf(record), record]));
  return keys.map((ofEvent) =>
    ofEvent.flatMap((key): EventRecord[] => {
      const record = records.get(textOf(key));
      return record ? [{ ...record, notification: parseDeliveryPartition(record.pk).id }] : [];
    }),
  );
};

const isKnown = async (session: Session, tenant: string): Promise<boolean> => {
  const { documents, deployment, tokens } = session;
  if ((await tokens.list(tenant)).length > 0 || (await tokens.lastRevokedAtMs(tenant)) > 0) return true;
  if (await getItem(documents, deployment.outputs.AccountsTable, accountKey(tenant))) return true;
  for await (const { id } of targetsOf(session, tenant)) return id !== DEFAULT_NOTIFICATION_ID;
  return false;
};

/**
 * Rejects a tenant that has or had neither tokens, an account nor notifications: its name may be misspelled. Commands
 * that only read call it if they find nothing.
 *
 * @param tenant undefined if the command names none
 * @param isNew whether the operator says that it is new (`--new`); undefined if the command has no such option
 * @throws OperationError
 */
export const assertKnown = async (session: Session, tenant: string | undefined, isNew?: boolean): Promise<void> => {
  if (tenant === undefined || isNew || (await isKnown(session, tenant))) return;
  const next = isNew === undefined ? '' : ', or pass --new';
  throw new OperationError(`Tenant ${tenant} does not exist: check its name, as "tenants" lists it${next}.`);
};
