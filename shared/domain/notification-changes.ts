import { isJsonObject } from '../contracts/json.ts';
import type { NotificationAttributes } from '../contracts/notification.ts';
import type { NotificationRecord } from '../contracts/responses/notifications.ts';
import type { StringMap } from '../contracts/text.ts';
import { maskedRequest } from '../contracts/webhook-request.ts';
import { defaultNotificationFixed } from './errors.ts';
import { DEFAULT_NOTIFICATION_ID } from './notification-id.ts';

export const maskedRecord = (id: string, attributes: NotificationAttributes): NotificationRecord => ({
  id,
  ...attributes,
  ...(attributes.webhook_request && { webhook_request: maskedRequest(attributes.webhook_request) }),
});

/** Only the updated notification as a whole is validated. */
export type Changes = Partial<Record<keyof NotificationAttributes, unknown>>;

/** What the request omits stays (docs/decisions/api.md#partial-updates); another type has nothing of a webhook. */
export const withChanges = (
  { webhook_request, ordered, ...common }: NotificationAttributes,
  changes: Changes,
): Changes => ({
  ...common,
  ...((changes.type ?? common.type) === common.type && { webhook_request, ordered }),
  ...changes,
});

const originOf = (url: unknown): string | undefined =>
  typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;

/** None if the update changes the origin of the URL, so that nobody can have secrets sent elsewhere. */
export const keptHeaders = (before: NotificationAttributes, { details }: Changes): StringMap =>
  originOf(before.details.url) === originOf(isJsonObject(details) ? details.url : undefined)
    ? (before.webhook_request?.headers ?? {})
    : {};

/** @throws ServiceError forbiddenError for the default notification */
export const assertChangeable = (id: string): void => {
  if (id === DEFAULT_NOTIFICATION_ID) throw defaultNotificationFixed(id);
};
