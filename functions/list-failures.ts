import { createFailureReader } from '../shared/adapters/deliveries/notification-failures.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { createFailureList } from '../shared/api/delivery-lists.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { pageRequest } from '../shared/api/request.ts';
import { isNotificationId } from '../shared/domain/notification-id.ts';

const { environment, client, endpoint } = apiFunction('list-failures');
const listFailures = createFailureList(
  createFailureReader(client, environment.DELIVERIES_TABLE),
  createTargetReader(client, environment.NOTIFICATIONS_TABLE),
);

/** GET /failures: 200 with a page of the tenant's notifications with deliveries that failed or fail. */
export const handler = endpoint(
  (request) => pageRequest(request, environment.LINK_SCHEME, isNotificationId),
  async ({ page, respond }, { tenant }) => respond(await listFailures(tenant, page)),
);
