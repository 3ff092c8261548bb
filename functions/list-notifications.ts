import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { parsePage, takePage } from '../shared/api/paging.ts';
import { query, requestUrl } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { collection } from '../shared/contracts/collection.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('list-notifications');
const client = createDocumentClient();
const notifications = createNotificationReader(client, environment.NOTIFICATIONS_TABLE);

/** GET /notifications: 200 with a page of the tenant's notifications, or of those in the `id` parameters. */
export const handler = endpoint(
  'list-notifications',
  tokenAuthentication(client, environment),
  (request) => ({
    page: parsePage(query(request)),
    ids: query(request).getAll('id'),
    self: { href: requestUrl(request, environment.LINK_SCHEME), query: query(request) },
  }),
  async ({ page, ids, self }, { tenant }) => {
    const records =
      ids.length > 0
        ? notifications.listByIds(tenant, ids, page.marker)
        : notifications.list(tenant, page.marker, page.limit + 1);
    return ok(collection(await takePage(records, page.limit), page, self));
  },
);
