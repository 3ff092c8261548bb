import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createFailureReader } from '../shared/adapters/deliveries/notification-failures.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { createFailureList } from '../shared/api/failure-list.ts';
import { parsePage } from '../shared/api/paging.ts';
import { query, requestUrl } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { collection } from '../shared/contracts/collection.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('list-failures');
const client = createDocumentClient();
const listFailures = createFailureList(
  createFailureReader(client, environment.DELIVERIES_TABLE),
  createTargetReader(client, environment.NOTIFICATIONS_TABLE),
);

/** GET /failures: 200 with a page of the tenant's notifications with deliveries that failed or fail. */
export const handler = endpoint(
  'list-failures',
  tokenAuthentication(client, environment),
  (request) => ({
    page: parsePage(query(request)),
    self: { href: requestUrl(request, environment.LINK_SCHEME), query: query(request) },
  }),
  async ({ page, self }, { tenant }) => ok(collection(await listFailures(tenant, page), page, self)),
);
