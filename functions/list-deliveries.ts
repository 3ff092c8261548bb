import { createDeliveryReader } from '../shared/adapters/deliveries/delivery-reader.ts';
import { createNotificationReader } from '../shared/adapters/notifications/notification-reader.ts';
import { createDeliveryHistory } from '../shared/api/delivery-lists.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { pageRequest, parseDeliverySelection, pathId, query } from '../shared/api/request.ts';
import { isPermitted } from '../shared/domain/token.ts';

const { environment, client, endpoint } = apiFunction('list-deliveries');
const listDeliveries = createDeliveryHistory(
  createDeliveryReader(client, environment.DELIVERIES_TABLE),
  createNotificationReader(client, environment.NOTIFICATIONS_TABLE),
);

/** GET /notifications/{id}/deliveries: 200 with a page of the notification's deliveries, newest first. */
export const handler = endpoint(
  (request) => ({
    id: pathId(request),
    ...pageRequest(request, environment.LINK_SCHEME),
    selection: parseDeliverySelection(query(request)),
  }),
  async ({ id, page, selection, respond }, { tenant, role }) =>
    respond(await listDeliveries({ tenant, id }, page, selection, isPermitted(role, 'test'))),
);
