import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { pageRequest, query, takePage } from '../shared/api/request.ts';
import { isNotificationId } from '../shared/domain/notification-id.ts';

const { environment, client, endpoint } = apiFunction('list-notifications');
const notifications = createNotificationReader(client, environment.NOTIFICATIONS_TABLE);

/** GET /notifications: 200 with a page of the tenant's notifications, or of those in the `id` parameters. */
export const handler = endpoint(
  (request) => ({
    ...pageRequest(request, environment.LINK_SCHEME, isNotificationId),
    ids: query(request).getAll('id'),
  }),
  async ({ page, ids, respond }, { tenant }) => {
    const records =
      ids.length > 0
        ? notifications.listByIds(tenant, ids, page.marker)
        : notifications.list(tenant, page.marker, page.limit + 1);
    return respond(await takePage(records, page.limit));
  },
);
