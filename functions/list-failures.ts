import { createFailureReader } from '../shared/adapters/deliveries/notification-failures.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { createFailureList } from '../shared/api/failure-list.ts';
import { collection, pageRequest } from '../shared/api/paging.ts';
import { ok } from '../shared/api/response.ts';
import { isNotificationId } from '../shared/domain/notification-id.ts';

const { environment, client, endpoint } = apiFunction('list-failures');
const listFailures = createFailureList(
  createFailureReader(client, environment.DELIVERIES_TABLE),
  createTargetReader(client, environment.NOTIFICATIONS_TABLE),
);

/** GET /failures: 200 with a page of the tenant's notifications with deliveries that failed or fail. */
export const handler = endpoint(
  (request) => pageRequest(request, environment.LINK_SCHEME, isNotificationId),
  async ({ page, self }, { tenant }) => ok(collection(await listFailures(tenant, page), page, self)),
);
