type NotificationType = {
  /** Whether the destination opens and closes incidents, so alerts of an alarm must arrive in order. */
  readonly hasIncidents: boolean;
  /** Whether SES may report a bounce after the delivery. */
  readonly canBounce: boolean;
  /** Whether it sends to URLs from notifications or settings. The other types send through AWS services only. */
  readonly sendsByHttp: boolean;
  /** The setting after how many alerts of a window the others are summarized; null if they never are. */
  readonly summarizedAfter: 'email_after' | 'sms_after' | null;
};

const defaults = { hasIncidents: false, canBounce: false, sendsByHttp: false, summarizedAfter: null } as const;

/**
 * The notification types (docs/api.md#details-by-type). Their fields (`notification-fields.ts`), the dispatch, and the
 * queues and senders of the stack derive from this list.
 */
export const notificationTypes = {
  email: { ...defaults, canBounce: true, summarizedAfter: 'email_after' },
  webhook: { ...defaults, sendsByHttp: true },
  incidentpager: { ...defaults, hasIncidents: true, sendsByHttp: true },
  sms: { ...defaults, summarizedAfter: 'sms_after' },
  incidentrouter: { ...defaults, hasIncidents: true, sendsByHttp: true },
  atomfeed: { ...defaults, sendsByHttp: true },
  technicalContactsEmail: { ...defaults, canBounce: true, summarizedAfter: 'email_after' },
  managed: defaults,
} as const satisfies Record<string, NotificationType>;
export type NotificationTypeId = keyof typeof notificationTypes;

/** Returns whether a value is the ID of a type. Inherited names such as `__proto__` are not. */
export const isNotificationTypeId = (id: unknown): id is NotificationTypeId =>
  typeof id === 'string' && Object.hasOwn(notificationTypes, id);

/** The IDs of all types, in the order of `notificationTypes`. */
export const notificationTypeIds = Object.keys(notificationTypes).filter(isNotificationTypeId);

const hasEveryType = <Value>(
  values: Readonly<Partial<Record<NotificationTypeId, Value>>>,
): values is Readonly<Record<NotificationTypeId, Value>> => notificationTypeIds.every((id) => id in values);

/** Returns a value for each type. */
export const byType = <Value>(
  create: (type: NotificationTypeId) => Value,
): Readonly<Record<NotificationTypeId, Value>> => {
  const values: Partial<Record<NotificationTypeId, Value>> = Object.fromEntries(
    notificationTypeIds.map((id) => [id, create(id)]),
  );
  if (!hasEveryType(values)) throw new Error('A notification type has no value.');
  return values;
};
