import { omitUnreadable } from '../../shared/adapters/notifications/unreadable-notification.ts';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import { truncate } from '../../shared/domain/alert-text.ts';
import { type DeliveryTarget, type NotificationKey, operatorsNotification } from '../../shared/domain/notification.ts';
import { sanitize } from './print.ts';
import type { Session } from './session.ts';

/** The maximum length of a label in tables, in code points. */
const MAX_LABEL_LENGTH = 30;

/** What a table shows beside the ID of a notification; null if it was deleted. */
export type Described = { notification_label: string | null; type: NotificationTypeId | null };

/** Returns a label in a table. */
export const labelCell = (label: string | null): string => sanitize(truncate(label ?? '–', MAX_LABEL_LENGTH));

/** 1 MB of a query has at least as many targets. */
const PAGE_SIZE = 200;

/** Yields the notifications of a tenant, readable ones only, the default notification last. `$` sorts before all IDs. */
export async function* targetsOf(
  { notifications }: Pick<Session, 'notifications'>,
  tenant: string,
): AsyncGenerator<DeliveryTarget> {
  for (let from: string | null = ''; from !== null; ) {
    const { targets, next } = await notifications.listTargets(tenant, `${from}$`, PAGE_SIZE);
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
