import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { parsePage, takePage } from '../shared/api/paging.ts';
import { query, requestUrl } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { collection } from '../shared/contracts/collection.ts';
import { notificationTypeIds, notificationTypeRecord } from '../shared/contracts/notification-types.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('list-notification-types');

/** GET /notification_types: 200 with a page of the types, sorted by ID. */
export const handler = endpoint(
  'list-notification-types',
  tokenAuthentication(createDocumentClient(), environment),
  (request) => ({
    page: parsePage(query(request)),
    self: { href: requestUrl(request, environment.LINK_SCHEME), query: query(request) },
  }),
  async ({ page, self }) => {
    const { marker } = page;
    const ids = notificationTypeIds.toSorted().filter((id) => marker === null || id >= marker);
    return ok(collection(await takePage(ids.map(notificationTypeRecord), page.limit), page, self));
  },
);
