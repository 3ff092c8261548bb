import { apiFunction } from '../shared/api/endpoint.ts';
import { pageRequest, takePage } from '../shared/api/request.ts';
import { notificationTypeRecord } from '../shared/contracts/notification-fields.ts';
import { isNotificationTypeId, notificationTypeIds } from '../shared/contracts/notification-types.ts';

const { environment, endpoint } = apiFunction('list-notification-types');

/** GET /notification_types: 200 with a page of the types, sorted by ID. */
export const handler = endpoint(
  (request) => pageRequest(request, environment.LINK_SCHEME, isNotificationTypeId),
  async ({ page: { limit, marker }, respond }) => {
    const ids = notificationTypeIds.toSorted().filter((id) => marker === null || id >= marker);
    return respond(await takePage(ids.map(notificationTypeRecord), limit));
  },
);
