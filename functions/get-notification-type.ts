import { apiFunction } from '../shared/api/endpoint.ts';
import { pathId } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { notificationTypeRecord } from '../shared/contracts/notification-fields.ts';
import { isNotificationTypeId } from '../shared/contracts/notification-types.ts';
import { notFound } from '../shared/domain/errors.ts';

const { endpoint } = apiFunction('get-notification-type');

/** GET /notification_types/{id}: 200 with the type. */
export const handler = endpoint(pathId, async (id) => {
  if (!isNotificationTypeId(id)) throw notFound('The notification type');
  return ok(notificationTypeRecord(id));
});
