type NotificationType = {
  /** Alerts of an alarm must arrive in order. */
  readonly hasIncidents: boolean;
  /** SES may report a bounce after the delivery. */
  readonly canBounce: boolean;
  /** Sends to URLs from notifications or settings. The others send through AWS services only. */
  readonly sendsByHttp: boolean;
  /** After how many alerts of a window the others are summarized; null if they never are. */
  readonly summarizedAfter: 'email_after' | 'sms_after' | null;
};

const defaults = { hasIncidents: false, canBounce: false, sendsByHttp: false, summarizedAfter: null } as const;

/** docs/api.md#details-by-type. Dispatch, and the queues and senders of the stack derive from them. */
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

/** Inherited names such as `__proto__` are no types. */
export const isNotificationTypeId = (id: unknown): id is NotificationTypeId =>
  typeof id === 'string' && Object.hasOwn(notificationTypes, id);

export const notificationTypeIds = Object.keys(notificationTypes).filter(isNotificationTypeId);

const hasEveryType = <Value>(
  values: Readonly<Partial<Record<NotificationTypeId, Value>>>,
): values is Readonly<Record<NotificationTypeId, Value>> => notificationTypeIds.every((id) => id in values);

export const byType = <Value>(
  create: (type: NotificationTypeId) => Value,
): Readonly<Record<NotificationTypeId, Value>> => {
  const values: Partial<Record<NotificationTypeId, Value>> = Object.fromEntries(
    notificationTypeIds.map((id) => [id, create(id)]),
  );
  if (!hasEveryType(values)) throw new Error('A notification type has no value.');
  return values;
};
