import { createDeliveryReader } from '../shared/adapters/deliveries/delivery-reader.ts';
import { createDestinationListReader } from '../shared/adapters/deliveries/destination-list.ts';
import { createTargetReader } from '../shared/adapters/notifications/notification-targets.ts';
import { createDeliverySearch } from '../shared/api/delivery-lists.ts';
import { apiFunction } from '../shared/api/endpoint.ts';
import { pageRequest, parseDeliverySelection, query } from '../shared/api/request.ts';
import { isPermitted } from '../shared/domain/token.ts';

const { environment, client, endpoint } = apiFunction('search-deliveries');
const searchDeliveries = createDeliverySearch({
  notifications: createTargetReader(client, environment.NOTIFICATIONS_TABLE),
  deliveries: createDeliveryReader(client, environment.DELIVERIES_TABLE),
  readDestinationList: createDestinationListReader(client, environment.DELIVERIES_TABLE),
});

/** GET /deliveries: 200 with a page of the deliveries of the tenant's notifications. */
export const handler = endpoint(
  (request) => ({
    ...pageRequest(request, environment.LINK_SCHEME),
    selection: parseDeliverySelection(query(request)),
  }),
  async ({ page, selection, respond }, { tenant, role }, timeLeft) => {
    const withResponses = isPermitted(role, 'test');
    return respond(await searchDeliveries(selection, page, { tenant, withResponses, timeLeft }));
  },
);
