import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createDeliveryRepository } from '../shared/adapters/deliveries/delivery-repository.ts';
import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { tokenAuthentication } from '../shared/api/authentication.ts';
import { createDeliveryHistory, parseDeliveryFilter } from '../shared/api/delivery-history.ts';
import { endpoint } from '../shared/api/endpoint.ts';
import { parsePage } from '../shared/api/paging.ts';
import { pathParameter, query, requestUrl } from '../shared/api/request.ts';
import { ok } from '../shared/api/response.ts';
import { collection } from '../shared/contracts/collection.ts';
import { isPermitted } from '../shared/domain/authorization.ts';
import { parseEnvironment } from '../shared/environment.ts';

const environment = parseEnvironment('list-deliveries');
const client = createDocumentClient();
const listDeliveries = createDeliveryHistory(
  createDeliveryRepository(client, environment.DELIVERIES_TABLE),
  createNotificationReader(client, environment.NOTIFICATIONS_TABLE),
);

/** GET /notifications/{notificationId}/deliveries: 200 with a page of the notification's deliveries, newest first. */
export const handler = endpoint(
  'list-deliveries',
  tokenAuthentication(client, environment),
  (request) => ({
    id: pathParameter(request, 'notificationId'),
    page: parsePage(query(request)),
    filter: parseDeliveryFilter(query(request)),
    self: { href: requestUrl(request, environment.LINK_SCHEME), query: query(request) },
  }),
  async ({ id, page, filter, self }, { tenant, role }) => {
    const deliveries = await listDeliveries({ tenant, id }, page, filter, isPermitted(role, 'test'));
    return ok(collection(deliveries, page, self));
  },
);
