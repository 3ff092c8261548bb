import type { EmailStops } from '../adapters/accounts/email-stops.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import type { NotificationRecord } from '../contracts/responses/notifications.ts';
import type { NotificationKey } from '../domain/notification.ts';
import type { ParsedRequest } from './request.ts';
import { type ApiResponse, created, locationResponse, ok, withPreferenceApplied } from './response.ts';

/** What a response to a change contains, as the request prefers it (RFC 7240, section 4.2). */
export type ReturnPreference = 'minimal' | 'representation' | undefined;

/** Returns what a request prefers. Anything else is ignored. */
export const returnPreference = ({ preferences }: ParsedRequest): ReturnPreference => {
  const value = preferences.get('return');
  return value === 'minimal' || value === 'representation' ? value : undefined;
};

/**
 * Creates the response to a create (201) or update (204) of a notification, whose representation it reads if the request
 * prefers it (201 and 200). The change is made: if the notification cannot be read, or was deleted, the preference is
 * not applied.
 */
export const createChangedResponse =
  (notifications: Pick<NotificationRepository, 'get'>) =>
  async (
    status: 201 | 204,
    key: NotificationKey,
    location: string,
    preference: ReturnPreference,
  ): Promise<ApiResponse> => {
    const minimal = locationResponse(status, location);
    const applied = preference && `return=${preference}`;
    if (preference !== 'representation') return withPreferenceApplied(minimal, applied);
    const found = await notifications.get(key).catch((error: unknown) => {
      logger.warn('changed notification not read', { notification_id: key.id, ...errorTrace(error) });
    });
    if (!found) return minimal;
    const { headers, ...response } = (status === 201 ? created : ok)(found.record);
    return withPreferenceApplied({ ...response, headers: { ...minimal.headers, ...headers } }, applied);
  };

/**
 * Creates the response to a read of a notification, with the stop of its address if there is one. Without, if the stop
 * cannot be read: the operation does not depend on the table Accounts.
 */
export const createNotificationResponse =
  (stops: Pick<EmailStops, 'find'>) =>
  async (tenant: string, record: NotificationRecord): Promise<ApiResponse> => {
    const { address } = record.details;
    if (record.type !== 'email' || address === undefined) return ok(record);
    const stop = await stops.find({ tenant, address }).catch((error: unknown) => {
      logger.warn('stops of emails not read', { notification_id: record.id, ...errorTrace(error) });
    });
    return ok({ ...record, ...(stop && { stopped: { reason: stop.reason, since: stop.sinceMs } }) });
  };
