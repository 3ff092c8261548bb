import { createEmailStops } from '../shared/adapters/accounts/email-stops.ts';
import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { pathParameter } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { notFound } from '../shared/domain/errors.ts';

const { environment, client, endpoint } = apiFunction('get-notification');
const notifications = createNotificationReader(client, environment.NOTIFICATIONS_TABLE);
const stops = createEmailStops(client, environment.ACCOUNTS_TABLE);

/** GET /notifications/{notificationId}: 200 with the notification, and the stop of its address if there is one. */
export const handler = endpoint(
  (request) => pathParameter(request, 'notificationId'),
  async (id, { tenant }) => {
    const notification = await notifications.get({ tenant, id });
    if (!notification) throw notFound('The notification');
    const { record } = notification;
    const { address } = record.details;
    const stop = record.type === 'email' && address !== undefined ? await stops.find({ tenant, address }) : undefined;
    return ok({ ...record, ...(stop && { stopped: { reason: stop.reason, since: stop.sinceMs } }) });
  },
);
